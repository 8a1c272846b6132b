import { InvalidError } from '../errors/index.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TEXT_LENGTH = 26;
const BYTE_LENGTH = 16;

/** A 16-byte identity of the managed plane. Its text form is 26 characters of Crockford's base 32. */
export class ManagedId {
	readonly #value: bigint;

	private constructor(value: bigint) {
		this.#value = value;
	}

	/** @throws {InvalidError} not 16 bytes */
	static fromBytes(bytes: Uint8Array): ManagedId {
		if (bytes.length !== BYTE_LENGTH) {
			throw new InvalidError(`an identity has ${BYTE_LENGTH} bytes, not ${bytes.length}`, {
				rule: 'id_length',
			});
		}
		return new ManagedId(bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n));
	}

	/** @throws {InvalidError} not the text form of an identity */
	static parse(text: string): ManagedId {
		let value = 0n;
		for (const character of text.toUpperCase()) {
			const digit = ALPHABET.indexOf(character);
			if (digit < 0) throw new InvalidError('an identity is written in base 32', { rule: 'id_length' });
			value = (value << 5n) | BigInt(digit);
		}
		if (text.length !== TEXT_LENGTH || value >> 128n !== 0n) {
			throw new InvalidError(`an identity is ${TEXT_LENGTH} characters`, { rule: 'id_length' });
		}
		return new ManagedId(value);
	}

	toString(): string {
		let text = '';
		for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((this.#value >> shift) & 31n)];
		return text;
	}

	toBytes(): Uint8Array {
		const bytes = new Uint8Array(BYTE_LENGTH);
		for (let i = 0; i < BYTE_LENGTH; i++) bytes[i] = Number((this.#value >> BigInt(120 - i * 8)) & 255n);
		return bytes;
	}

	equals(other: ManagedId): boolean {
		return this.#value === other.#value;
	}

	toJSON(): string {
		return this.toString();
	}
}
