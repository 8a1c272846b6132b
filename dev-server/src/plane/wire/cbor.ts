/**
 * Reading is by the `cborg` package, bent to the contract: every integer item is a `bigint`, every float item a `number`,
 * so 20 and 20.0 stay apart both ways. A decoder is strict where the contract asks for it (UTF-8, duplicate keys,
 * depth 256) and lenient where it must be (indefinite lengths, long heads, any key order).
 */
import { decodeFirst, Token, Tokenizer, Type } from 'cborg';
import { CborWriter } from './cbor_writer.js';
import { Refusal } from './refusal.js';

const MAX_DEPTH = 256;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export type Cbor =
	| null
	| boolean
	| bigint
	| number
	| string
	| Uint8Array
	| readonly Cbor[]
	| { readonly [key: string]: Cbor | undefined };

/** Encodes with the keys in insertion order; `undefined` fields are left out; `number` is always a float item. */
export function encodeCbor(value: unknown): Uint8Array {
	const writer = new CborWriter();
	writer.value(value);
	return writer.finish();
}

class StrictTokenizer extends Tokenizer {
	/** Items still to come in each open container; Infinity for indefinite ones. */
	readonly #open: number[] = [];

	override next(): Token {
		const start = this.pos();
		const head = this.byte(start);
		const major = head >> 5;
		if (head === 0xff) {
			const left = this.#open.pop();
			if (left !== Number.POSITIVE_INFINITY) throw new Refusal('codec', 'wrong_type', '', 'break outside');
			const token = super.next();
			this.closeFull();
			return token;
		}
		if ((major === 2 || major === 3) && (head & 31) === 31) return this.chunks(major);
		let token = super.next();
		if (token.type === Type.tag) {
			if (token.value !== 2) throw new Refusal('codec', 'wrong_type', '', `tag ${token.value}`);
			return this.bignum();
		}
		if (token.type === Type.string) {
			this.text(this.stringBytes(start, this.pos()));
		}
		// A new token: the ones for small integers are shared by the whole package.
		if (token.type === Type.uint || token.type === Type.negint) {
			token = new Token(token.type, BigInt(token.value), token.encodedLength);
		}
		this.enter(token);
		return token;
	}

	private byte(at: number): number {
		const byte = this.data[at];
		if (byte === undefined) throw new Refusal('codec', 'truncated', '');
		return byte;
	}

	private stringBytes(start: number, end: number): Uint8Array {
		const head = this.byte(start) & 31;
		const prefix = head < 24 ? 1 : 1 + (1 << (head - 24));
		return this.data.subarray(start + prefix, end);
	}

	private text(bytes: Uint8Array): string {
		try {
			return utf8.decode(bytes);
		} catch {
			throw new Refusal('codec', 'invalid_utf8', '');
		}
	}

	private chunks(major: number): Token {
		this._pos += 1;
		const parts: Uint8Array[] = [];
		for (;;) {
			const head = this.byte(this.pos());
			if (head === 0xff) break;
			if (head >> 5 !== major || (head & 31) === 31) throw new Refusal('codec', 'wrong_type', '', 'chunk');
			const start = this.pos();
			const token = super.next();
			parts.push(major === 2 ? (token.value as Uint8Array) : this.stringBytes(start, this.pos()));
			if (major === 3) this.text(parts[parts.length - 1]!);
		}
		this._pos += 1;
		const bytes = Buffer.concat(parts);
		const token =
			major === 2 ? new Token(Type.bytes, new Uint8Array(bytes)) : new Token(Type.string, this.text(bytes));
		token.encodedLength = 0;
		this.count();
		this.closeFull();
		return token;
	}

	private bignum(): Token {
		const bytes = super.next();
		if (bytes.type !== Type.bytes) throw new Refusal('codec', 'wrong_type', '', 'bignum');
		const raw = bytes.value as Uint8Array;
		if (raw.length > 16) throw new Refusal('codec', 'integer_range', '');
		const token = new Token(Type.uint, BigInt(`0x0${Buffer.from(raw).toString('hex')}`));
		this.count();
		this.closeFull();
		return token;
	}

	private count(): void {
		const top = this.#open.length - 1;
		if (top >= 0) this.#open[top]! -= 1;
	}

	private enter(token: Token): void {
		this.count();
		const isMap = token.type === Type.map;
		if (isMap || token.type === Type.array) {
			if (this.#open.length >= MAX_DEPTH) throw new Refusal('codec', 'depth_exceeded', '');
			this.#open.push(Number(token.value) * (isMap ? 2 : 1));
		}
		this.closeFull();
	}

	private closeFull(): void {
		while (this.#open.length > 0 && this.#open[this.#open.length - 1]! <= 0) this.#open.pop();
	}
}

/** Decodes exactly one item. Throws a `Refusal` of class codec. */
export function decodeCbor(bytes: Uint8Array): unknown {
	const options = {
		rejectDuplicateMapKeys: true,
		coerceUndefinedToNull: true,
		allowBigInt: true,
		strict: false,
	};
	let rest: Uint8Array;
	let value: unknown;
	try {
		const tokenizer = new StrictTokenizer(bytes, options);
		[value, rest] = decodeFirst(bytes, { ...options, tokenizer });
	} catch (error) {
		if (error instanceof Refusal) throw error;
		const text = error instanceof Error ? error.message : String(error);
		const rule = /repeat map key/.test(text)
			? 'duplicate_key'
			: /not enough|unexpected end|did not find any|missing/i.test(text)
				? 'truncated'
				: 'wrong_type';
		throw new Refusal('codec', rule, '', text);
	}
	if (rest.length > 0) throw new Refusal('codec', 'trailing_bytes', '');
	return value;
}
