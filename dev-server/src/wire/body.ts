import { Refusal, Status } from './codes.js';

export type Identifier = { id: number } | { name: string };

export interface Consumer {
	kind: number;
	id: Identifier;
}

export interface Strategy {
	kind: number;
	value: bigint;
}

export type Partitioning = { by: 'balanced' } | { by: 'partition'; id: number } | { by: 'key'; key: Buffer };

/** The body cannot be decoded: status 3, unless the command says otherwise. */
export class BodyError extends Refusal {
	constructor() {
		super(Status.invalidCommand);
	}
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a request body. Every read checks what is left. */
export class BodyReader {
	#at = 0;

	constructor(readonly bytes: Buffer) {}

	get left(): number {
		return this.bytes.length - this.#at;
	}

	take(length: number): Buffer {
		if (length > this.left) throw new BodyError();
		const from = this.#at;
		this.#at += length;
		return this.bytes.subarray(from, this.#at);
	}

	rest(): Buffer {
		return this.take(this.left);
	}

	end(): void {
		if (this.left > 0) throw new BodyError();
	}

	u8(): number {
		return this.take(1)[0]!;
	}

	u32(): number {
		return this.take(4).readUInt32LE();
	}

	u64(): bigint {
		return this.take(8).readBigUInt64LE();
	}

	text(length: number): string {
		try {
			return utf8.decode(this.take(length));
		} catch {
			throw new BodyError();
		}
	}

	/** u8 length, 1-255, then text. */
	name(): string {
		const length = this.u8();
		if (length === 0) throw new BodyError();
		return this.text(length);
	}

	/** u8 length, possibly 0, then text. */
	shortText(): string {
		return this.text(this.u8());
	}

	identifier(): Identifier {
		const kind = this.u8();
		const length = this.u8();
		if (kind === 1 && length === 4) return { id: this.u32() };
		if (kind === 2 && length > 0) return { name: this.text(length) };
		throw new BodyError();
	}

	/** `lastKind` 3 lets external groups in. */
	consumer(lastKind = 2): Consumer {
		const kind = this.u8();
		if (kind < 1 || kind > lastKind) throw new BodyError();
		return { kind, id: this.identifier() };
	}

	strategy(): Strategy {
		const kind = this.u8();
		if (kind < 1 || kind > 5) throw new BodyError();
		return { kind, value: this.u64() };
	}

	optionalPartition(): number | undefined {
		const flag = this.u8();
		const id = this.u32();
		if (flag > 1) throw new BodyError();
		return flag === 1 ? id : undefined;
	}

	partitioning(): Partitioning {
		const kind = this.u8();
		const length = this.u8();
		if (kind === 1 && length === 0) return { by: 'balanced' };
		if (kind === 2 && length === 4) return { by: 'partition', id: this.u32() };
		if (kind === 3 && length > 0) return { by: 'key', key: this.take(length) };
		throw new BodyError();
	}
}

/** Collects a reply body. */
export class BodyWriter {
	readonly #pieces: Buffer[] = [];

	u8(value: number): this {
		this.#pieces.push(Buffer.from([value]));
		return this;
	}

	u16(value: number): this {
		const piece = Buffer.alloc(2);
		piece.writeUInt16LE(value);
		return this.bytes(piece);
	}

	u32(value: number): this {
		const piece = Buffer.alloc(4);
		piece.writeUInt32LE(value);
		return this.bytes(piece);
	}

	u64(value: bigint): this {
		const piece = Buffer.alloc(8);
		piece.writeBigUInt64LE(value);
		return this.bytes(piece);
	}

	f32(value: number): this {
		const piece = Buffer.alloc(4);
		piece.writeFloatLE(value);
		return this.bytes(piece);
	}

	bytes(value: Buffer): this {
		this.#pieces.push(value);
		return this;
	}

	/** u8 length, then text. */
	name(value: string): this {
		const text = Buffer.from(value);
		return this.u8(text.length).bytes(text);
	}

	/** u32 length, then text. */
	longText(value: string): this {
		return this.block(Buffer.from(value));
	}

	/** u32 length, then bytes. */
	block(value: Buffer): this {
		return this.u32(value.length).bytes(value);
	}

	done(): Buffer {
		return Buffer.concat(this.#pieces);
	}
}
