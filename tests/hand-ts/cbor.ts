/**
 * A plain TypeScript reader of CBOR under the contract's rules (agdx.md 2): the rival that the wasm core is measured
 * against, and a second opinion on what inputs mean. Shares nothing with the core.
 */

export class Refused extends Error {
	constructor(
		readonly rule: string,
		readonly position: number,
		/** codec: it cannot be read; invalid: it can, and a rule refuses it. */
		readonly category: 'codec' | 'invalid' | 'protocol' = 'codec',
	) {
		super(`${rule} at byte ${position}`);
	}
}

const MAX_DEPTH = 256;
const INDEFINITE = -1;
const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class Reader {
	bytes: Uint8Array;
	view: DataView;
	at = 0;
	end: number;
	depth = 0;

	constructor(bytes: Uint8Array) {
		this.bytes = bytes;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.end = bytes.length;
	}

	fail(rule: string, position = this.at): never {
		throw new Refused(rule, position);
	}

	/** The argument of a head of this major kind; INDEFINITE where it has none. 64-bit arguments that do not fit fail. */
	#length(major: number): number {
		const from = this.at;
		if (from >= this.end) this.fail('truncated');
		const initial = this.bytes[from]!;
		if (initial >>> 5 !== major) this.fail('wrong_type');
		const info = initial & 31;
		this.at++;
		if (info < 24) return info;
		if (info === 31) return INDEFINITE;
		if (info > 27) this.fail('cbor_malformed', from);
		const width = 1 << (info - 24);
		if (this.at + width > this.end) this.fail('truncated', from);
		const at = this.at;
		this.at += width;
		if (width === 1) return this.bytes[at]!;
		if (width === 2) return this.view.getUint16(at);
		if (width === 4) return this.view.getUint32(at);
		const value = this.view.getUint32(at) * 2 ** 32 + this.view.getUint32(at + 4);
		// No such length can be there; any number above all real ones will do.
		return value;
	}

	/** An integer item as bigint, -2^64 to 2^64 - 1. */
	integer(): bigint {
		const from = this.at;
		if (from >= this.end) this.fail('truncated');
		const initial = this.bytes[from]!;
		const major = initial >>> 5;
		if (major > 1) this.fail('wrong_type');
		const info = initial & 31;
		this.at++;
		let value: bigint;
		if (info < 24) value = BigInt(info);
		else {
			if (info > 27) this.fail('cbor_malformed', from);
			const width = 1 << (info - 24);
			if (this.at + width > this.end) this.fail('truncated', from);
			const at = this.at;
			this.at += width;
			if (width === 1) value = BigInt(this.bytes[at]!);
			else if (width === 2) value = BigInt(this.view.getUint16(at));
			else if (width === 4) value = BigInt(this.view.getUint32(at));
			else value = this.view.getBigUint64(at);
		}
		return major === 0 ? value : -1n - value;
	}

	u64(): bigint {
		const from = this.at;
		const value = this.integer();
		if (value < 0n) this.fail('integer_range', from);
		return value;
	}

	unsigned(maximum: number): number {
		const from = this.at;
		const value = this.integer();
		if (value < 0n || value > BigInt(maximum)) this.fail('integer_range', from);
		return Number(value);
	}

	signed64(): bigint {
		const from = this.at;
		const value = this.integer();
		if (BigInt.asIntN(64, value) !== value) this.fail('integer_range', from);
		return value;
	}

	signed32(): number {
		const from = this.at;
		const value = this.integer();
		if (BigInt.asIntN(32, value) !== value) this.fail('integer_range', from);
		return Number(value);
	}

	boolean(): boolean {
		if (this.at >= this.end) this.fail('truncated');
		const initial = this.bytes[this.at]!;
		if (initial !== 0xf4 && initial !== 0xf5) this.fail('wrong_type');
		this.at++;
		return initial === 0xf5;
	}

	takeNull(): boolean {
		const initial = this.bytes[this.at];
		if (this.at >= this.end || (initial !== 0xf6 && initial !== 0xf7)) return false;
		this.at++;
		return true;
	}

	float(): number {
		const from = this.at;
		if (from >= this.end) this.fail('truncated');
		const initial = this.bytes[from]!;
		const width = initial === 0xf9 ? 2 : initial === 0xfa ? 4 : initial === 0xfb ? 8 : 0;
		if (width === 0) this.fail('wrong_type');
		if (from + 1 + width > this.end) this.fail('truncated');
		this.at += 1 + width;
		if (width === 8) return this.view.getFloat64(from + 1);
		return width === 4 ? this.view.getFloat32(from + 1) : half(this.view.getUint16(from + 1));
	}

	text(): string {
		const from = this.at;
		const length = this.#length(3);
		if (length === INDEFINITE) {
			let whole = '';
			while (!this.#stop()) {
				if (this.bytes[this.at]! >>> 5 !== 3 || this.bytes[this.at] === 0x7f) this.fail('cbor_malformed');
				whole += this.text();
			}
			return whole;
		}
		if (length > this.end - this.at) this.fail('truncated', from);
		const start = this.at;
		this.at += length;
		try {
			return text.decode(this.bytes.subarray(start, this.at));
		} catch {
			return this.fail('invalid_utf8', from);
		}
	}

	/** A byte string, or an array of integers 0 to 255. */
	byteString(): Uint8Array {
		const from = this.at;
		if (from < this.end && this.bytes[from]! >>> 5 === 4) {
			const values: number[] = [];
			for (let left = this.array(); this.more(left); left--) values.push(this.unsigned(255));
			return Uint8Array.from(values);
		}
		const length = this.#length(2);
		if (length === INDEFINITE) {
			const parts: number[] = [];
			while (!this.#stop()) {
				if (this.bytes[this.at]! >>> 5 !== 2 || this.bytes[this.at] === 0x5f) this.fail('cbor_malformed');
				parts.push(...this.byteString());
			}
			return Uint8Array.from(parts);
		}
		if (length > this.end - this.at) this.fail('truncated', from);
		const start = this.at;
		this.at += length;
		return this.bytes.subarray(start, this.at);
	}

	/** Opens a map: entries to come, negative when its end is marked. Loop with `more`. */
	map(): number {
		return this.#container(5, 2);
	}

	array(): number {
		return this.#container(4, 1);
	}

	/** Whether there is another entry; `left` counts down, or stays below zero. Closes the container when not. */
	more(left: number): boolean {
		if (left > 0 || (left < 0 && !this.#stop())) return true;
		this.depth--;
		return false;
	}

	skip(): void {
		if (this.at >= this.end) this.fail('truncated');
		const from = this.at;
		const initial = this.bytes[from]!;
		switch (initial >>> 5) {
			case 0:
			case 1:
				this.integer();
				return;
			case 2: {
				// Not byteString(): an array is no byte string here.
				const length = this.#length(2);
				if (length === INDEFINITE) while (!this.#stop()) this.byteString();
				else if (length > this.end - this.at) this.fail('truncated', from);
				else this.at += length;
				return;
			}
			case 3:
				this.text();
				return;
			case 4:
				for (let left = this.array(); this.more(left); left--) this.skip();
				return;
			case 5:
				for (let left = this.map(); this.more(left); left--) {
					this.skip();
					this.skip();
				}
				return;
			case 6:
				this.#length(6);
				this.skip();
				return;
			default:
				if ((initial & 31) < 24) this.at++;
				else if (initial === 0xf8) {
					if (from + 2 > this.end) this.fail('truncated');
					this.at += 2;
				} else if (initial >= 0xf9 && initial <= 0xfb) this.float();
				else this.fail('cbor_malformed');
		}
	}

	expectEnd(): void {
		if (this.at !== this.end) this.fail('trailing_bytes');
	}

	#stop(): boolean {
		if (this.at >= this.end) this.fail('truncated');
		if (this.bytes[this.at] !== 0xff) return false;
		this.at++;
		return true;
	}

	#container(major: number, smallest: number): number {
		const from = this.at;
		const count = this.#length(major);
		if (count * smallest > this.end - this.at) this.fail('truncated', from);
		if (++this.depth > MAX_DEPTH) this.fail('depth_exceeded', from);
		return count;
	}
}

export function half(bits: number): number {
	const sign = bits & 0x8000 ? -1 : 1;
	const exponent = (bits >>> 10) & 31;
	const fraction = bits & 1023;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
