import { InvalidError } from '../errors/index.js';

const encoder = new TextEncoder();

/**
 * JSON text in UTF-8. A bigint becomes a JSON number with all its digits; everything else is as in JSON.stringify.
 *
 * @throws {InvalidError} the value has no JSON form
 */
export function encodeJson(value: unknown): Uint8Array {
	return encoder.encode(jsonText(value));
}

function jsonText(value: unknown): string {
	let text: string | undefined;
	try {
		// An application may have given bigints a toJSON of its own, which would make texts of them.
		text = 'toJSON' in BigInt.prototype ? withBigints(value) : JSON.stringify(value);
	} catch (cause) {
		// What a toJSON or a getter of the application throws is passed on; depth and rings are ours to name.
		if (cause instanceof RangeError) throw unwritable(cause);
		if (!(cause instanceof TypeError)) throw cause;
		try {
			text = withBigints(value);
		} catch (second) {
			throw unwritable(second);
		}
	}
	if (text === undefined)
		throw new InvalidError('json: the value has no JSON form', { rule: 'publish_body' });
	return text;
}

function unwritable(cause: unknown): InvalidError {
	return new InvalidError('json: the value cannot be written', { rule: 'publish_body' }, { cause });
}

/** Writes bigints as marked texts and takes mark and quotes off again. The mark is drawn anew, so no data can hold it. */
function withBigints(value: unknown): string | undefined {
	// Not randomUUID, which pages of plain http do not have.
	const mark = `bigint:${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`;
	const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key, item) {
		const original = this[key];
		return typeof original === 'bigint' ? `${mark}${original}` : item;
	});
	return text?.replace(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}
