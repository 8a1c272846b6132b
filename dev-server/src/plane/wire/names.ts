/** Text rules that several messages share. Lengths are bytes of UTF-8. */
import { invalid } from './refusal.js';

const CONTROL = /\p{Cc}/u;
const PADDED = /^\p{White_Space}|\p{White_Space}$/u;

export function utf8Length(text: string): number {
	return Buffer.byteLength(text, 'utf8');
}

/** 1..255 bytes, no control character. */
export function plainName(text: string, rule: string, path: string, max = 255): string {
	const length = utf8Length(text);
	if (length < 1 || length > max || CONTROL.test(text)) invalid(rule, path);
	return text;
}

/** As `plainName`, and no white space at either end. */
export function trimmedName(text: string, rule: string, path: string): string {
	plainName(text, rule, path);
	if (PADDED.test(text)) invalid(rule, path, 'surrounding white space');
	return text;
}

export function hasControl(text: string, allowed = ''): boolean {
	for (const char of text) if (CONTROL.test(char) && !allowed.includes(char)) return true;
	return false;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A 16-byte identity as its 26 characters. */
export function idText(id: Uint8Array): string {
	let value = BigInt(`0x${Buffer.from(id).toString('hex')}`);
	let text = '';
	for (let i = 0; i < 26; i++) {
		text = CROCKFORD[Number(value & 31n)]! + text;
		value >>= 5n;
	}
	return text;
}
