/** Typed reading of one decoded CBOR map: each accessor checks presence, type and width, and names the path. */
import { codec } from './refusal.js';

const U32 = 0xffff_ffffn;
const U64 = 0xffff_ffff_ffff_ffffn;
const U128 = (1n << 128n) - 1n;

export class Fields {
	private constructor(
		private readonly map: Record<string, unknown>,
		readonly path: string,
	) {}

	static of(value: unknown, path: string): Fields {
		if (value === null || typeof value !== 'object' || Array.isArray(value) || value instanceof Uint8Array) {
			codec('wrong_type', path, 'map expected');
		}
		return new Fields(value as Record<string, unknown>, path);
	}

	at(key: string): string {
		return this.path === '' ? key : `${this.path}.${key}`;
	}

	/** Refuses keys outside the list (closed envelopes only). */
	closed(keys: readonly string[]): this {
		for (const key of Object.keys(this.map)) if (!keys.includes(key)) codec('unknown_field', this.at(key));
		return this;
	}

	keys(): string[] {
		return Object.keys(this.map);
	}

	/** Present and not null. */
	has(key: string): boolean {
		return Object.hasOwn(this.map, key) && this.map[key] !== null && this.map[key] !== undefined;
	}

	raw(key: string): unknown {
		return Object.hasOwn(this.map, key) ? this.map[key] : undefined;
	}

	required(key: string): unknown {
		if (!Object.hasOwn(this.map, key)) codec('missing_field', this.at(key));
		return this.map[key];
	}

	text(key: string): string {
		return asText(this.required(key), this.at(key));
	}

	bool(key: string): boolean {
		return asBool(this.required(key), this.at(key));
	}

	u8(key: string): bigint {
		return asInteger(this.required(key), this.at(key), 0n, 255n);
	}

	u32(key: string): bigint {
		return asInteger(this.required(key), this.at(key), 0n, U32);
	}

	u64(key: string): bigint {
		return asInteger(this.required(key), this.at(key), 0n, U64);
	}

	u128(key: string): bigint {
		return asInteger(this.required(key), this.at(key), 0n, U128);
	}

	float(key: string): number {
		return asFloat(this.required(key), this.at(key));
	}

	bytes(key: string): Uint8Array {
		return asBytes(this.required(key), this.at(key));
	}

	id(key: string): Uint8Array {
		const bytes = asBytes(this.required(key), this.at(key));
		if (bytes.length !== 16) codec('id_length', this.at(key));
		return bytes;
	}

	list<T>(key: string, item: (value: unknown, path: string) => T): T[] {
		return asList(this.required(key), this.at(key), item);
	}

	oneOf<T extends string>(key: string, names: readonly T[]): T {
		return asName(this.required(key), this.at(key), names);
	}

	/** Undefined when absent or null, else what `read` makes of it. */
	optional<T>(key: string, read: (fields: Fields, key: string) => T): T | undefined {
		return this.has(key) ? read(this, key) : undefined;
	}

	/** Default when the key is absent; null is not absent here unless `read` takes it. */
	or<T>(key: string, fallback: T, read: (fields: Fields, key: string) => T): T {
		return Object.hasOwn(this.map, key) ? read(this, key) : fallback;
	}

	child(key: string): Fields {
		return Fields.of(this.required(key), this.at(key));
	}
}

export function asText(value: unknown, path: string): string {
	if (typeof value !== 'string') codec('wrong_type', path, 'text expected');
	return value;
}

export function asBool(value: unknown, path: string): boolean {
	if (typeof value !== 'boolean') codec('wrong_type', path, 'boolean expected');
	return value;
}

export function asFloat(value: unknown, path: string): number {
	if (typeof value !== 'number') codec('wrong_type', path, 'float expected');
	return value;
}

export function asInteger(value: unknown, path: string, min: bigint, max: bigint): bigint {
	if (typeof value !== 'bigint') codec('wrong_type', path, 'integer expected');
	if (value < min || value > max) codec('integer_range', path);
	return value;
}

export function asBytes(value: unknown, path: string): Uint8Array {
	if (value instanceof Uint8Array) return value;
	if (Array.isArray(value)) {
		return Uint8Array.from(value, (item: unknown) => Number(asInteger(item, path, 0n, 255n)));
	}
	return codec('wrong_type', path, 'bytes expected');
}

export function asList<T>(value: unknown, path: string, item: (value: unknown, path: string) => T): T[] {
	if (!Array.isArray(value)) codec('wrong_type', path, 'array expected');
	return (value as unknown[]).map((entry, i) => item(entry, `${path}[${i}]`));
}

export function asName<T extends string>(value: unknown, path: string, names: readonly T[]): T {
	const text = asText(value, path);
	if (!(names as readonly string[]).includes(text)) codec('unknown_variant', path, text);
	return text as T;
}

/** An externally tagged variant: its name and its data (undefined for a bare name). */
export function variantOf(value: unknown, path: string): { name: string; data: unknown } {
	if (typeof value === 'string') return { name: value, data: undefined };
	if (value === null || typeof value !== 'object' || Array.isArray(value) || value instanceof Uint8Array) {
		codec('enum_shape', path);
	}
	const keys = Object.keys(value as object);
	if (keys.length !== 1) codec('enum_shape', path);
	return { name: keys[0]!, data: (value as Record<string, unknown>)[keys[0]!] };
}
