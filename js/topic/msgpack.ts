import { InvalidError } from '../errors/index.js';

const MAX_DEPTH = 256;
const text = new TextEncoder();

/**
 * MessagePack of plain data: null, booleans, numbers, bigints within 64 bits, texts, bytes, arrays, maps with text keys
 * and plain objects. A whole number takes its shortest form; `undefined` entries of objects are left out.
 *
 * @throws {InvalidError} anything else
 */
export function encodeMsgpack(value: unknown): Uint8Array {
	const writer = new Writer();
	writer.value(value, 0);
	return writer.done();
}

class Writer {
	#bytes = new Uint8Array(256);
	#view = new DataView(this.#bytes.buffer);
	#at = 0;

	done(): Uint8Array {
		return this.#bytes.slice(0, this.#at);
	}

	value(value: unknown, depth: number): void {
		if (depth > MAX_DEPTH) throw refused('nested too deeply');
		switch (typeof value) {
			case 'boolean':
				this.#u8(value ? 0xc3 : 0xc2);
				return;
			case 'number':
				if (Number.isSafeInteger(value) && !Object.is(value, -0)) this.#integer(BigInt(value));
				else this.#f64(value);
				return;
			case 'bigint':
				this.#integer(value);
				return;
			case 'string':
				this.#text(value);
				return;
			case 'object':
				this.#object(value, depth);
				return;
			default:
				throw refused(`a ${typeof value} has no form`);
		}
	}

	#object(value: object | null, depth: number): void {
		if (value === null) this.#u8(0xc0);
		else if (tagOf(value) === 'Uint8Array') this.#binary(value as Uint8Array);
		else if (Array.isArray(value)) {
			this.#head(value.length, 0x90, 15, [undefined, 0xdc, 0xdd]);
			for (const item of value) this.value(item ?? null, depth + 1);
		} else {
			const tag = tagOf(value);
			// A date, a set, a buffer … has no entries of its own: it would be written as an empty map.
			if (tag !== 'Object' && tag !== 'Map') throw refused(`a ${tag} has no form`);
			const entries = tag === 'Map' ? [...(value as Map<unknown, unknown>)] : Object.entries(value);
			const present = entries.filter(([, item]) => item !== undefined);
			this.#head(present.length, 0x80, 15, [undefined, 0xde, 0xdf]);
			for (const [key, item] of present) {
				if (typeof key !== 'string') throw refused('a map key is not a text');
				this.#text(key);
				this.value(item, depth + 1);
			}
		}
	}

	#text(value: string): void {
		const bytes = text.encode(value);
		this.#head(bytes.length, 0xa0, 31, [0xd9, 0xda, 0xdb]);
		this.#raw(bytes);
	}

	#binary(bytes: Uint8Array): void {
		this.#head(bytes.length, undefined, -1, [0xc4, 0xc5, 0xc6]);
		this.#raw(bytes);
	}

	/** A length in the shortest of: the tag itself, one, two, four bytes. */
	#head(
		length: number,
		tag: number | undefined,
		most: number,
		[one, two, four]: readonly [number | undefined, number, number],
	): void {
		if (tag !== undefined && length <= most) this.#u8(tag | length);
		else if (one !== undefined && length < 0x100) {
			this.#u8(one);
			this.#u8(length);
		} else if (length < 0x10000) {
			this.#u8(two);
			this.#view.setUint16(this.#room(2), length);
		} else {
			this.#u8(four);
			this.#view.setUint32(this.#room(4), length);
		}
	}

	#integer(value: bigint): void {
		if (value >= 0n) {
			if (value < 0x80n) this.#u8(Number(value));
			else if (value < 0x100n) this.#tagged(0xcc, 1, (at) => this.#view.setUint8(at, Number(value)));
			else if (value < 0x10000n) this.#tagged(0xcd, 2, (at) => this.#view.setUint16(at, Number(value)));
			else if (value < 1n << 32n) this.#tagged(0xce, 4, (at) => this.#view.setUint32(at, Number(value)));
			else if (value < 1n << 64n) this.#tagged(0xcf, 8, (at) => this.#view.setBigUint64(at, value));
			else throw refused('an integer above 64 bits');
		} else if (value >= -32n) this.#u8(Number(value) & 0xff);
		else if (value >= -0x80n) this.#tagged(0xd0, 1, (at) => this.#view.setInt8(at, Number(value)));
		else if (value >= -0x8000n) this.#tagged(0xd1, 2, (at) => this.#view.setInt16(at, Number(value)));
		else if (value >= -(1n << 31n)) this.#tagged(0xd2, 4, (at) => this.#view.setInt32(at, Number(value)));
		else if (value >= -(1n << 63n)) this.#tagged(0xd3, 8, (at) => this.#view.setBigInt64(at, value));
		else throw refused('an integer below 64 bits');
	}

	#f64(value: number): void {
		this.#tagged(0xcb, 8, (at) => this.#view.setFloat64(at, value));
	}

	#tagged(tag: number, length: number, write: (at: number) => void): void {
		this.#u8(tag);
		write(this.#room(length));
	}

	#u8(value: number): void {
		this.#bytes[this.#room(1)] = value;
	}

	#raw(bytes: Uint8Array): void {
		this.#bytes.set(bytes, this.#room(bytes.length));
	}

	/** Where the next `length` bytes go. May replace the buffer: views are used after it only. */
	#room(length: number): number {
		const at = this.#at;
		this.#at += length;
		if (this.#at > this.#bytes.length) {
			const larger = new Uint8Array(Math.max(this.#at, this.#bytes.length * 2));
			larger.set(this.#bytes.subarray(0, at));
			this.#bytes = larger;
			this.#view = new DataView(larger.buffer);
		}
		return at;
	}
}

/** What an object says it is: the same in every frame, where `instanceof` is not. */
function tagOf(value: object): string {
	return Object.prototype.toString.call(value).slice(8, -1);
}

function refused(message: string): InvalidError {
	return new InvalidError(`msgpack: ${message}`, { rule: 'publish_body' });
}
