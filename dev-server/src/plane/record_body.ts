/** What a record's payload says, by its content type. Opaque bodies have no fields to extract. */

import { type JsonValue, parseJson } from './json_value.js';
import { decodeCbor } from './wire/cbor.js';

const CT = { raw: 0, json: 1, cbor: 3, any: 255 } as const;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The decoded document, or undefined for an opaque or unreadable body. */
export function decodeBody(payload: Uint8Array, contentType: number | undefined): JsonValue | undefined {
	try {
		switch (contentType) {
			case undefined:
			case CT.any:
			case CT.json:
				return parseJson(utf8.decode(payload));
			case CT.cbor:
				return fromCbor(decodeCbor(payload));
			default:
				return undefined;
		}
	} catch {
		return undefined;
	}
}

export function fromCbor(item: unknown): JsonValue {
	if (item === null || item === undefined) return null;
	if (item instanceof Uint8Array) return Buffer.from(item).toString('base64');
	if (Array.isArray(item)) return item.map(fromCbor);
	if (typeof item === 'object') {
		return new Map(Object.entries(item).map(([key, value]): [string, JsonValue] => [key, fromCbor(value)]));
	}
	return item as JsonValue;
}
