/**
 * The tape: the form in which cold values cross the wasm border, both ways (the layout is described in
 * src/bytes/tape.hpp). A tape made by the core is trusted to be well formed: it never comes from a peer.
 */

import { InvalidError } from '../errors/index.js';

const NULL = 0;
const NO = 1;
const YES = 2;
const U32 = 3;
const I32 = 4;
const F32 = 5;
const U64 = 6;
const I64 = 7;
const F64 = 8;
const U128 = 9;
const TEXT = 10;
const BYTES = 11;
const ARRAY = 12;
const MAP = 13;

/** A query's filter may have 64 levels, each of which is a map and an array. */
const MAX_DEPTH = 256;

// A byte order mark is part of the text like any other character.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** What can be written to a tape: plain data. `undefined` entries of an object are left out. */
export type TapeValue =
	| null
	| undefined
	| boolean
	| number
	| bigint
	| string
	| Uint8Array
	| readonly TapeValue[]
	| { readonly [key: string]: TapeValue };

/** Reads the value at the start of the tape. Everything in the result is owned by the caller. */
export function readTape(memory: Uint8Array, address: number, length: number): unknown {
	return new TapeReader(memory, address, length, camelCase).value();
}

/** As readTape, with all names as they are: for what is not the contract's but a user's own. */
export function readTapeAsIs(memory: Uint8Array, address: number, length: number): unknown {
	return new TapeReader(memory, address, length, (name) => name).value();
}

class TapeReader {
	readonly #bytes: Uint8Array;
	readonly #view: DataView;
	readonly #name: (name: string) => string;
	#at = 0;

	constructor(memory: Uint8Array, address: number, length: number, name: (name: string) => string) {
		this.#name = name;
		this.#bytes = memory.subarray(address, address + length);
		this.#view = new DataView(memory.buffer, memory.byteOffset + address, length);
	}

	value(): unknown {
		const tag = this.#word();
		switch (tag) {
			case NULL:
				return null;
			case NO:
				return false;
			case YES:
				return true;
			case U32:
				return this.#word();
			case I32:
				return this.#word() | 0;
			case F32: {
				const value = this.#view.getFloat32(this.#at, true);
				this.#at += 4;
				return value;
			}
			case F64: {
				const value = this.#view.getFloat64(this.#at, true);
				this.#at += 8;
				return value;
			}
			case U64:
				return this.#u64();
			case I64:
				return BigInt.asIntN(64, this.#u64());
			case U128: {
				const low = this.#u64();
				return low | (this.#u64() << 64n);
			}
			case TEXT:
				return decoder.decode(this.#block());
			case BYTES:
				return this.#block().slice();
			case ARRAY: {
				const items: unknown[] = [];
				for (let left = this.#word(); left > 0; left--) items.push(this.value());
				return items;
			}
			case MAP: {
				const object: Record<string, unknown> = {};
				for (let left = this.#word(); left > 0; left--) {
					this.#word();
					const key = this.#name(decoder.decode(this.#block()));
					setOwn(object, key, this.value());
				}
				return object;
			}
			default:
				throw new Error(`tape: unknown tag ${tag} at byte ${this.#at - 4}`);
		}
	}

	#word(): number {
		const value = this.#view.getUint32(this.#at, true);
		this.#at += 4;
		return value;
	}

	#u64(): bigint {
		const value = this.#view.getBigUint64(this.#at, true);
		this.#at += 8;
		return value;
	}

	#block(): Uint8Array {
		const length = this.#word();
		const start = this.#at;
		this.#at += (length + 3) & ~3;
		return this.#bytes.subarray(start, start + length);
	}
}

/** Writes values to a growing buffer that is kept between uses; `finish` gives a view that lives until the next one. */
export class TapeWriter {
	#bytes = new Uint8Array(1024);
	#view = new DataView(this.#bytes.buffer);
	#at = 0;

	encode(value: TapeValue | unknown): Uint8Array {
		this.#at = 0;
		this.#value(value, 0);
		return this.#bytes.subarray(0, this.#at);
	}

	#value(value: unknown, depth: number): void {
		if (depth > MAX_DEPTH) throw new InvalidError('the value is nested too deeply', { rule: 'argument' });
		switch (typeof value) {
			case 'undefined':
				this.#tag(NULL);
				return;
			case 'boolean':
				this.#tag(value ? YES : NO);
				return;
			case 'number':
				this.#tag(F64);
				this.#reserve(8);
				this.#view.setFloat64(this.#at, value, true);
				this.#at += 8;
				return;
			case 'bigint':
				this.#bigint(value);
				return;
			case 'string':
				this.#text(value);
				return;
			case 'object':
				break;
			default:
				throw new TypeError(`a ${typeof value} cannot be sent`);
		}
		if (value === null) this.#tag(NULL);
		else if (value instanceof Uint8Array) this.#block(BYTES, value);
		else if (Array.isArray(value)) {
			this.#tag(ARRAY);
			this.#word(value.length);
			for (const item of value) this.#value(item, depth + 1);
		} else this.#map(value as Record<string, unknown>, depth);
	}

	#map(value: Record<string, unknown>, depth: number): void {
		this.#tag(MAP);
		const mark = this.#at;
		this.#word(0);
		let count = 0;
		for (const key of Object.keys(value)) {
			const item = value[key];
			if (item === undefined) continue;
			this.#text(snakeCase(key));
			this.#value(item, depth + 1);
			count++;
		}
		this.#view.setUint32(mark, count, true);
	}

	#bigint(value: bigint): void {
		if (value >= 0n && value < 1n << 64n) {
			this.#tag(U64);
			this.#u64(value);
		} else if (value < 0n && value >= -(1n << 63n)) {
			this.#tag(I64);
			this.#u64(BigInt.asUintN(64, value));
		} else if (value > 0n && value < 1n << 128n) {
			this.#tag(U128);
			this.#u64(BigInt.asUintN(64, value));
			this.#u64(value >> 64n);
		} else
			throw new InvalidError('an integer is outside of 64 bits signed to 128 bits unsigned', {
				rule: 'argument',
			});
	}

	#u64(value: bigint): void {
		this.#reserve(8);
		this.#view.setBigUint64(this.#at, value, true);
		this.#at += 8;
	}

	#text(value: string): void {
		this.#tag(TEXT);
		// A UTF-16 unit takes at most three bytes.
		this.#reserve(4 + value.length * 3 + 3);
		const start = this.#at + 4;
		const { written } = encoder.encodeInto(value, this.#bytes.subarray(start));
		this.#view.setUint32(this.#at, written, true);
		this.#at = start + written;
		this.#pad();
	}

	#block(tag: number, value: Uint8Array): void {
		this.#tag(tag);
		this.#word(value.length);
		this.#reserve(value.length + 3);
		this.#bytes.set(value, this.#at);
		this.#at += value.length;
		this.#pad();
	}

	#pad(): void {
		while (this.#at % 4 !== 0) this.#bytes[this.#at++] = 0;
	}

	#tag(tag: number): void {
		this.#word(tag);
	}

	#word(value: number): void {
		this.#reserve(4);
		this.#view.setUint32(this.#at, value, true);
		this.#at += 4;
	}

	#reserve(bytes: number): void {
		if (this.#at + bytes <= this.#bytes.length) return;
		const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + bytes));
		larger.set(this.#bytes.subarray(0, this.#at));
		this.#bytes = larger;
		this.#view = new DataView(larger.buffer);
	}
}

/** Defines an own property whatever its name is: `__proto__` is a legal field name and must not reach the prototype. */
export function setOwn(object: object, key: string, value: unknown): object {
	if (key === '__proto__')
		Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
	else (object as Record<string, unknown>)[key] = value;
	return object;
}

// Field names are a small fixed set, so each is converted once. The cap keeps a hostile peer from growing the cache.
const CACHE_LIMIT = 2048;
const camel = new Map<string, string>();
const snake = new Map<string, string>();

/** `from_offset` → `fromOffset`. A doubled or leading underscore is part of the name: `__proto__` stays. */
export function camelCase(name: string): string {
	return cached(camel, name, (text) =>
		text.replace(/_([a-z])/g, (match, letter: string, at: number) =>
			at === 0 || text[at - 1] === '_' ? match : letter.toUpperCase(),
		),
	);
}

/** The way back. A capitalised name is a variant's (`RegisterProjection`) and stays as it is. */
export function snakeCase(name: string): string {
	return cached(snake, name, (text) =>
		/^[A-Z]/.test(text) ? text : text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
	);
}

function cached(cache: Map<string, string>, name: string, convert: (text: string) => string): string {
	const known = cache.get(name);
	if (known !== undefined) return known;
	const made = convert(name);
	if (cache.size < CACHE_LIMIT) cache.set(name, made);
	return made;
}
