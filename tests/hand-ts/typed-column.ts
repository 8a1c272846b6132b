import type { Field } from './schema.js';
import type { Value } from './typed-value.js';

/**
 * A column in typed arrays, as Arrow lays it out, or of boxed values where the kind has none: what a plain TypeScript decoder
 * does that wants to be fast. The reference encoder's spelling is recognized by comparing words.
 */
export class TypedColumn {
	readonly field: Field;
	length = 0;
	nullCount = 0;
	/** One bit a slot, 1 = not null. */
	validity = new Uint8Array(SLOTS / 8).fill(0xff);
	/** int, date; boolean as 0 and 1; four words a slot of a decimal */
	words = NO_WORDS;
	longs = NO_LONGS;
	doubles = NO_DOUBLES;
	/** uuid: 16 a slot; string: behind each other */
	bytes = NO_BYTES;
	offsets = NO_WORDS;
	/** `offsets` in UTF-16 units. */
	utf16 = NO_WORDS;
	/** Of every other kind, null for null. */
	boxed: unknown[] = [];

	readonly #shape: Shape;
	readonly #prefix: Int32Array;
	readonly #prefixLength: number;
	readonly #tail: Uint8Array;
	readonly #limit: number;
	#slots = SLOTS;
	/** Over `bytes`. */
	#out = new DataView(NO_BYTES.buffer);

	constructor(field: Field) {
		this.field = field;
		this.#shape = SHAPES[field.kind] ?? Shape.boxed;
		const { prefix, tail } = spelling(field);
		this.#prefix = new Int32Array(prefix.buffer, 0, prefix.length >>> 2);
		this.#prefixLength = prefix.length;
		this.#lastWord = new DataView(prefix.buffer).getInt32(prefix.length - 4, true);
		this.#tail = tail;
		this.#limit = 10 ** field.precision;
		switch (this.#shape) {
			case Shape.boolean:
			case Shape.int:
				this.words = new Int32Array(SLOTS);
				break;
			case Shape.long:
				this.longs = new BigInt64Array(SLOTS);
				break;
			case Shape.double:
				this.doubles = new Float64Array(SLOTS);
				break;
			case Shape.decimal:
				this.words = new Int32Array(SLOTS * 4);
				break;
			case Shape.uuid:
				this.#room(SLOTS * 16);
				break;
			case Shape.string:
				this.#room(SLOTS * 16);
				this.offsets = new Int32Array(SLOTS + 1);
				this.utf16 = new Int32Array(SLOTS + 1);
				break;
		}
	}

	readonly #lastWord: number;

	/** Takes a cell in its shortest spelling and gives the place behind it, or takes nothing and gives -1. */
	take(bytes: Uint8Array, view: DataView, from: number, end: number): number {
		if (end - from < MARGIN) return -1;
		const prefix = this.#prefix;
		let at = from + this.#prefixLength;
		let differs = view.getInt32(at - 4, true) ^ this.#lastWord;
		for (let word = 0; word < prefix.length; word++)
			differs |= view.getInt32(from + word * 4, true) ^ prefix[word]!;
		if (differs !== 0) return this.#takeNull(view, from);
		if (this.length === this.#slots) this.#grow();
		const slot = this.length;
		switch (this.#shape) {
			case Shape.boolean: {
				const byte = bytes[at++]!;
				if ((byte & 0xfe) !== 0xf4) return -1;
				this.words[slot] = byte & 1;
				break;
			}
			case Shape.int: {
				const initial = bytes[at]!;
				const info = initial & 31;
				if (initial >= 0x40 || info > 26) return -1;
				const argument = small(bytes, view, at, info);
				if (argument > 0x7fff_ffff) return -1;
				this.words[slot] = initial < 0x20 ? argument : ~argument;
				at += info < 24 ? 1 : 1 + (1 << (info - 24));
				break;
			}
			case Shape.long: {
				const initial = bytes[at]!;
				const info = initial & 31;
				if (initial >= 0x40 || info > 27) return -1;
				if (info === 27) {
					const argument = view.getBigInt64(at + 1);
					if (argument < 0n) return -1;
					this.longs[slot] = initial < 0x20 ? argument : ~argument;
				} else {
					const argument = small(bytes, view, at, info);
					this.longs[slot] = BigInt(initial < 0x20 ? argument : -1 - argument);
				}
				at += info < 24 ? 1 : 1 + (1 << (info - 24));
				break;
			}
			case Shape.double: {
				if (bytes[at] !== 0xfb) return -1;
				const value = view.getFloat64(at + 1);
				if (!Number.isFinite(value) || Object.is(value, -0)) return -1;
				this.doubles[slot] = value;
				at += 9;
				break;
			}
			case Shape.uuid:
				if (bytes[at] !== 0x50) return -1;
				for (let index = 0; index < 16; index += 4)
					this.#out.setInt32(slot * 16 + index, view.getInt32(at + 1 + index));
				at += 17;
				break;
			case Shape.decimal:
				at = this.#decimal(bytes, at, slot);
				if (at < 0) return -1;
				break;
			case Shape.string:
				at = this.#text(bytes, view, at, end, slot);
				if (at < 0) return -1;
				break;
			default:
				return -1;
		}
		this.length = slot + 1;
		return at;
	}

	/** A value that was read and checked in general. */
	push({ kind, value }: Value): void {
		if (this.length === this.#slots) this.#grow();
		const slot = this.length;
		if (kind === 'null') {
			this.#pushNull();
			return;
		}
		switch (this.#shape) {
			case Shape.boolean:
			case Shape.int:
				this.words[slot] = Number(value);
				break;
			case Shape.long:
				this.longs[slot] = value as bigint;
				break;
			case Shape.double:
				this.doubles[slot] = value as number;
				break;
			case Shape.uuid:
				this.bytes.set(value as Uint8Array, slot * 16);
				break;
			case Shape.decimal:
				this.#pushWide((value as { unscaled: Uint8Array }).unscaled, slot);
				break;
			case Shape.string: {
				const text = utf8.encode(value as string);
				this.#pushText(text, new DataView(text.buffer, text.byteOffset), 0, text.length, slot);
				break;
			}
			default:
				this.boxed.push(value);
		}
		this.length = slot + 1;
	}

	/** A slot as a typed value's payload, null for null. */
	at(slot: number): unknown {
		if (this.isNull(slot)) return null;
		switch (this.#shape) {
			case Shape.boolean:
				return this.words[slot] === 1;
			case Shape.int:
				return this.words[slot]!;
			case Shape.long:
				return this.longs[slot]!;
			case Shape.double:
				return this.doubles[slot]!;
			case Shape.uuid:
				return this.bytes.slice(slot * 16, slot * 16 + 16);
			case Shape.decimal:
				return this.unscaled(slot);
			case Shape.string:
				return text.decode(this.bytes.subarray(this.offsets[slot]!, this.offsets[slot + 1]!));
			default:
				return this.boxed[slot];
		}
	}

	isNull(slot: number): boolean {
		return ((this.validity[slot >>> 3]! >>> (slot & 7)) & 1) === 0;
	}

	unscaled(slot: number): bigint {
		let value = BigInt(this.words[slot * 4 + 3]!);
		for (let word = 2; word >= 0; word--) value = (value << 32n) | BigInt(this.words[slot * 4 + word]! >>> 0);
		return value;
	}

	#takeNull(view: DataView, from: number): number {
		if (
			this.field.required ||
			view.getInt32(from) !== 0xa1646b69 - 2 ** 32 ||
			view.getInt32(from + 4) !== 0x6e64646e ||
			view.getInt32(from + 7) !== 0x6e756c6c
		)
			return -1;
		if (this.length === this.#slots) this.#grow();
		this.#pushNull();
		return from + 11;
	}

	#pushNull(): void {
		const slot = this.length++;
		this.nullCount++;
		this.validity[slot >>> 3]! &= ~(1 << (slot & 7));
		if (this.#shape === Shape.boxed) this.boxed.push(null);
		if (this.#shape !== Shape.string) return;
		this.offsets[slot + 1] = this.offsets[slot]!;
		this.utf16[slot + 1] = this.utf16[slot]!;
	}

	/** Up to six bytes, which a number holds exactly. */
	#decimal(bytes: Uint8Array, from: number, slot: number): number {
		if (bytes[from] !== 0xa3) return -1;
		for (let index = 0; index < UNSCALED.length; index++)
			if (bytes[from + 1 + index] !== UNSCALED[index]) return -1;
		const length = bytes[from + 10]! - 0x40;
		if (length < 1 || length > 6) return -1;
		const start = from + 11;
		const end = start + length;
		const top = bytes[start]!;
		if (length > 1 && (top === 0 || top === 0xff) && (top & 0x80) === (bytes[start + 1]! & 0x80)) return -1;
		let value = (top << 24) >> 24;
		for (let index = start + 1; index < end; index++) value = value * 256 + bytes[index]!;
		if (Math.abs(value) >= this.#limit) return -1;
		const tail = this.#tail;
		for (let index = 0; index < tail.length; index++) if (bytes[end + index] !== tail[index]) return -1;
		const words = this.words;
		const sign = value < 0 ? -1 : 0;
		words[slot * 4] = value | 0;
		words[slot * 4 + 1] = Math.floor(value / 2 ** 32);
		words[slot * 4 + 2] = sign;
		words[slot * 4 + 3] = sign;
		return end + tail.length;
	}

	#pushWide(unscaled: Uint8Array, slot: number): void {
		let value = BigInt((unscaled[0]! << 24) >> 24);
		for (let index = 1; index < unscaled.length; index++) value = (value << 8n) | BigInt(unscaled[index]!);
		for (let word = 0; word < 4; word++)
			this.words[slot * 4 + word] = Number(BigInt.asIntN(32, value >> BigInt(word * 32)));
	}

	#text(bytes: Uint8Array, view: DataView, from: number, end: number, slot: number): number {
		const initial = bytes[from]!;
		let start = from + 1;
		let length = initial - 0x60;
		if (initial === 0x78) length = bytes[start++]!;
		else if (length < 0 || length > 23) return -1;
		if (start + length > end) return -1;
		return this.#pushText(bytes, view, start, start + length, slot) ? start + length : -1;
	}

	/** False, with nothing pushed, when it is no UTF-8. */
	#pushText(bytes: Uint8Array, view: DataView, start: number, end: number, slot: number): boolean {
		let used = this.offsets[slot]!;
		if (used + end - start > this.bytes.length) this.#room(this.bytes.length + end - start);
		const out = this.#out;
		let high = 0;
		let at = start;
		for (; at + 4 <= end; at += 4, used += 4) {
			const word = view.getInt32(at);
			high |= word;
			out.setInt32(used, word);
		}
		for (; at < end; at++) {
			const byte = bytes[at]!;
			high |= byte;
			out.setUint8(used++, byte);
		}
		let units = end - start;
		if ((high & 0x8080_8080) !== 0) {
			units = utf16Units(bytes, start, end);
			if (units < 0) return false;
		}
		this.offsets[slot + 1] = used;
		this.utf16[slot + 1] = this.utf16[slot]! + units;
		return true;
	}

	#grow(): void {
		this.#slots *= 2;
		const validity = new Uint8Array(this.#slots / 8).fill(0xff);
		validity.set(this.validity);
		this.validity = validity;
		for (const name of ['words', 'longs', 'doubles', 'offsets', 'utf16'] as const)
			if (this[name].length > 0) (this[name] as Int32Array) = larger(this[name] as Int32Array);
		if (this.#shape === Shape.uuid) this.#room(this.bytes.length);
	}

	/** Makes at least so much more room in `bytes`. */
	#room(more: number): void {
		const made = new Uint8Array(this.bytes.length * 2 + more);
		made.set(this.bytes);
		this.bytes = made;
		this.#out = new DataView(made.buffer);
	}
}

const SLOTS = 1024;
const MARGIN = 96;
const NO_WORDS = new Int32Array();
const NO_LONGS = new BigInt64Array();
const NO_DOUBLES = new Float64Array();
const NO_BYTES = new Uint8Array();
const utf8 = new TextEncoder();
const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const UNSCALED = utf8.encode('\u0068unscaled');

enum Shape {
	boolean,
	int,
	long,
	double,
	uuid,
	decimal,
	string,
	boxed,
}

const SHAPES: Record<string, Shape> = {
	boolean: Shape.boolean,
	int: Shape.int,
	date: Shape.int,
	long: Shape.long,
	time_micros: Shape.boxed,
	timestamp_micros: Shape.long,
	timestamp_tz_micros: Shape.long,
	double: Shape.double,
	uuid: Shape.uuid,
	decimal: Shape.decimal,
	string: Shape.string,
};

/** { "kind": NAME, "value": and, of a decimal, what follows the unscaled bytes. */
function spelling({ kind, precision, scale }: Field): { prefix: Uint8Array; tail: Uint8Array } {
	const short = (value: number) => (value < 24 ? [value] : [0x18, value]);
	const key = (name: string) => [0x60 + name.length, ...utf8.encode(name)];
	return {
		prefix: Uint8Array.from([0xa2, ...key('kind'), ...key(kind), ...key('value')]),
		tail: Uint8Array.from([...key('precision'), ...short(precision), ...key('scale'), ...short(scale)]),
	};
}

function small(bytes: Uint8Array, view: DataView, at: number, info: number): number {
	if (info < 24) return info;
	if (info === 24) return bytes[at + 1]!;
	return info === 25 ? view.getUint16(at + 1) : view.getUint32(at + 1);
}

/** Negative when it is no UTF-8. */
function utf16Units(bytes: Uint8Array, start: number, end: number): number {
	let units = 0;
	for (let at = start; at < end; ) {
		const lead = bytes[at]!;
		units++;
		if (lead < 0x80) {
			at++;
			continue;
		}
		const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
		if (length === 0 || at + length > end) return -1;
		const next = bytes[at + 1]!;
		const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
		const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
		if (next < least || next > most) return -1;
		for (let index = 2; index < length; index++) if ((bytes[at + index]! & 0xc0) !== 0x80) return -1;
		if (length === 4) units++;
		at += length;
	}
	return units;
}

function larger<T extends Int32Array>(array: T): T {
	const made = new (array.constructor as new (length: number) => T)(array.length * 2 + 1);
	made.set(array);
	return made;
}
