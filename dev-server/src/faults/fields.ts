export type Field = unknown;

/** Reads the fields of a fault that came as JSON. */
export class Fields {
	readonly #values: Record<string, unknown>;
	readonly #read = new Set(['kind']);

	constructor(values: Record<string, unknown>) {
		this.#values = values;
	}

	optional(name: string): Field {
		this.#read.add(name);
		return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
	}

	text(name: string): string {
		const value = this.optional(name);
		if (typeof value !== 'string') throw new Error(`${name} must be text`);
		return value;
	}

	optionalNumber(name: string): number | undefined {
		const value = this.optional(name);
		if (value === undefined) return undefined;
		if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
			throw new Error(`${name} must be a whole number`);
		}
		return value;
	}

	number(name: string): number {
		const value = this.optionalNumber(name);
		if (value === undefined) throw new Error(`${name} is missing`);
		return value;
	}

	/** A 64-bit offset: number, bigint or decimal text. */
	offset(name: string): bigint {
		const value = this.optional(name);
		const decimal = typeof value === 'string' && /^\d{1,20}$/.test(value);
		const whole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
		if (!decimal && !whole) throw new Error(`${name} must be an offset`);
		const offset = BigInt(value as string | number | bigint);
		if (offset < 0n || offset > 0xffff_ffff_ffff_ffffn) throw new Error(`${name} is outside 64 bits`);
		return offset;
	}

	/** Refuses misspelt fields. */
	end(): void {
		for (const name of Object.keys(this.#values)) {
			if (!this.#read.has(name)) throw new Error(`unknown field ${JSON.stringify(name)}`);
		}
	}
}
