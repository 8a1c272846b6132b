/** Writes the reference encoder's spelling: shortest heads, definite lengths. Only what the benchmarks' data needs. */
export class Encoder {
	#bytes = new Uint8Array(1 << 20);
	#view = new DataView(this.#bytes.buffer);
	length = 0;
	readonly #encoder = new TextEncoder();

	finish(): Uint8Array {
		return this.#bytes.slice(0, this.length);
	}

	head(major: number, value: number | bigint): this {
		this.#reserve(9);
		const initial = major << 5;
		const argument = BigInt(value);
		if (argument < 24n) this.#bytes[this.length++] = initial | Number(argument);
		else if (argument < 256n) {
			this.#bytes[this.length++] = initial | 24;
			this.#bytes[this.length++] = Number(argument);
		} else if (argument < 65_536n) {
			this.#bytes[this.length++] = initial | 25;
			this.#view.setUint16(this.length, Number(argument));
			this.length += 2;
		} else if (argument < 1n << 32n) {
			this.#bytes[this.length++] = initial | 26;
			this.#view.setUint32(this.length, Number(argument));
			this.length += 4;
		} else {
			this.#bytes[this.length++] = initial | 27;
			this.#view.setBigUint64(this.length, argument);
			this.length += 8;
		}
		return this;
	}

	integer(value: number | bigint): this {
		return value >= 0 ? this.head(0, value) : this.head(1, -1n - BigInt(value));
	}

	text(value: string): this {
		const bytes = this.#encoder.encode(value);
		this.head(3, bytes.length);
		return this.raw(bytes);
	}

	bytes(value: Uint8Array): this {
		return this.head(2, value.length).raw(value);
	}

	boolean(value: boolean): this {
		this.#reserve(1);
		this.#bytes[this.length++] = value ? 0xf5 : 0xf4;
		return this;
	}

	/** Eight bytes wide, which every decoder accepts. */
	double(value: number): this {
		this.#reserve(9);
		this.#bytes[this.length++] = 0xfb;
		this.#view.setFloat64(this.length, value);
		this.length += 8;
		return this;
	}

	raw(bytes: Uint8Array): this {
		this.#reserve(bytes.length);
		this.#bytes.set(bytes, this.length);
		this.length += bytes.length;
		return this;
	}

	#reserve(more: number): void {
		if (this.length + more <= this.#bytes.length) return;
		const larger = new Uint8Array(this.#bytes.length * 2 + more);
		larger.set(this.#bytes);
		this.#bytes = larger;
		this.#view = new DataView(larger.buffer);
	}
}

/** Deterministic numbers, so that every run decodes the same bytes. */
export function numbers(seed: number): (below: number) => number {
	let state = seed >>> 0;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}
