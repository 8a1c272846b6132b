/**
 * Writes CBOR as the contract asks: definite lengths, shortest heads, shortest lossless floats, keys in the order in
 * which a message was built. A `bigint` is an integer item and a `number` always a float item.
 */

const FIRST_BYTES = 64 * 1024;
const MAX_U64 = 0xffff_ffff_ffff_ffffn;
const MAJOR = { uint: 0x00, negint: 0x20, bytes: 0x40, text: 0x60, array: 0x80, map: 0xa0 } as const;

const scratch = new DataView(new ArrayBuffer(8));

export class CborWriter {
	#bytes = Buffer.allocUnsafe(FIRST_BYTES);
	#at = 0;

	/** The message, in memory of its own. */
	finish(): Uint8Array {
		return new Uint8Array(this.#bytes.subarray(0, this.#at));
	}

	private need(count: number): void {
		if (this.#at + count <= this.#bytes.length) return;
		const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + count));
		this.#bytes.copy(grown, 0, 0, this.#at);
		this.#bytes = grown;
	}

	value(value: unknown): void {
		switch (typeof value) {
			case 'string':
				this.text(value);
				return;
			case 'bigint':
				this.integer(value);
				return;
			case 'number':
				this.float(value);
				return;
			case 'boolean':
				this.need(1);
				this.#bytes[this.#at++] = value ? 0xf5 : 0xf4;
				return;
			case 'object':
				if (value === null) break;
				if (Array.isArray(value)) this.array(value);
				else if (value instanceof Uint8Array) this.binary(value);
				else if (value instanceof Map) this.entries([...value]);
				else this.object(value as Record<string, unknown>);
				return;
		}
		this.need(1);
		this.#bytes[this.#at++] = 0xf6;
	}

	private head(major: number, count: number): void {
		this.need(9);
		const bytes = this.#bytes;
		if (count < 24) bytes[this.#at++] = major | count;
		else if (count < 0x100) {
			bytes[this.#at++] = major | 24;
			bytes[this.#at++] = count;
		} else if (count < 0x1_0000) {
			bytes[this.#at] = major | 25;
			this.#at = bytes.writeUInt16BE(count, this.#at + 1);
		} else if (count <= 0xffff_ffff) {
			bytes[this.#at] = major | 26;
			this.#at = bytes.writeUInt32BE(count, this.#at + 1);
		} else {
			bytes[this.#at] = major | 27;
			this.#at = bytes.writeBigUInt64BE(BigInt(count), this.#at + 1);
		}
	}

	private integer(value: bigint): void {
		const negative = value < 0n;
		const magnitude = negative ? -1n - value : value;
		const major = negative ? MAJOR.negint : MAJOR.uint;
		if (magnitude <= 0xffff_ffffn) this.head(major, Number(magnitude));
		else if (magnitude <= MAX_U64) {
			this.need(9);
			this.#bytes[this.#at] = major | 27;
			this.#at = this.#bytes.writeBigUInt64BE(magnitude, this.#at + 1);
		} else {
			if (negative) throw new RangeError('no negative integer beyond 64 bits');
			this.need(1);
			this.#bytes[this.#at++] = 0xc2;
			const hex = magnitude.toString(16);
			this.binary(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'));
		}
	}

	private float(value: number): void {
		this.need(9);
		const bytes = this.#bytes;
		if (Math.fround(value) !== value && !Number.isNaN(value)) {
			bytes[this.#at] = 0xfb;
			this.#at = bytes.writeDoubleBE(value, this.#at + 1);
			return;
		}
		const half = halfOf(value);
		if (half === undefined) {
			bytes[this.#at] = 0xfa;
			this.#at = bytes.writeFloatBE(value, this.#at + 1);
		} else {
			bytes[this.#at] = 0xf9;
			this.#at = bytes.writeUInt16BE(half, this.#at + 1);
		}
	}

	private text(value: string): void {
		const { length } = value;
		// Short plain text, which most is: written while it is looked at.
		if (length < 24) {
			this.need(length + 1);
			const start = this.#at;
			this.#bytes[start] = MAJOR.text | length;
			let i = 0;
			for (; i < length; i++) {
				const code = value.charCodeAt(i);
				if (code > 0x7f) break;
				this.#bytes[start + 1 + i] = code;
			}
			if (i === length) {
				this.#at = start + 1 + length;
				return;
			}
		}
		const size = Buffer.byteLength(value, 'utf8');
		this.head(MAJOR.text, size);
		this.need(size);
		this.#at += this.#bytes.write(value, this.#at, size, 'utf8');
	}

	private binary(value: Uint8Array): void {
		this.head(MAJOR.bytes, value.length);
		this.need(value.length);
		this.#bytes.set(value, this.#at);
		this.#at += value.length;
	}

	private array(items: readonly unknown[]): void {
		this.head(MAJOR.array, items.length);
		for (const item of items) this.value(item);
	}

	/** Keys without a value are left out. */
	private object(value: Record<string, unknown>): void {
		const keys = Object.keys(value);
		let count = 0;
		for (const key of keys) if (value[key] !== undefined) count += 1;
		this.head(MAJOR.map, count);
		for (const key of keys) {
			const item = value[key];
			if (item === undefined) continue;
			this.text(key);
			this.value(item);
		}
	}

	private entries(entries: readonly [unknown, unknown][]): void {
		this.head(MAJOR.map, entries.length);
		for (const [key, item] of entries) {
			this.value(key);
			this.value(item);
		}
	}
}

/** The 16 bits of a single that a half holds exactly. */
function halfOf(value: number): number | undefined {
	if (Number.isNaN(value)) return 0x7e00;
	scratch.setFloat32(0, value);
	const bits = scratch.getUint32(0);
	const sign = (bits >>> 16) & 0x8000;
	const exponent = ((bits >>> 23) & 0xff) - 127;
	const mantissa = bits & 0x7f_ffff;
	if (exponent === 128) return sign | 0x7c00;
	if (value === 0) return sign;
	if (exponent > 15 || exponent < -24) return undefined;
	if (exponent >= -14) {
		if ((mantissa & 0x1fff) !== 0) return undefined;
		return sign | ((exponent + 15) << 10) | (mantissa >>> 13);
	}
	const shift = 13 + (-14 - exponent);
	const full = mantissa | 0x80_0000;
	if ((full & ((1 << shift) - 1)) !== 0) return undefined;
	return sign | (full >>> shift);
}
