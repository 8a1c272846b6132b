/** A header's value by its kind: text, flag, number up to 32 bits, bigint above, and bytes for whatever else. */
export type HeaderValue = string | boolean | number | bigint | Uint8Array;

const decoder = new TextDecoder();

/** Kinds of the streaming protocol's typed headers. Unknown ones keep their bytes. */
const READERS: Readonly<Record<number, { length?: number; read(view: DataView): HeaderValue }>> = {
	2: { read: (view) => decoder.decode(view) },
	3: { length: 1, read: (view) => view.getUint8(0) !== 0 },
	4: { length: 1, read: (view) => view.getInt8(0) },
	5: { length: 2, read: (view) => view.getInt16(0, true) },
	6: { length: 4, read: (view) => view.getInt32(0, true) },
	7: { length: 8, read: (view) => view.getBigInt64(0, true) },
	8: { length: 16, read: (view) => (view.getBigInt64(8, true) << 64n) | view.getBigUint64(0, true) },
	9: { length: 1, read: (view) => view.getUint8(0) },
	10: { length: 2, read: (view) => view.getUint16(0, true) },
	11: { length: 4, read: (view) => view.getUint32(0, true) },
	12: { length: 8, read: (view) => view.getBigUint64(0, true) },
	13: { length: 16, read: (view) => (view.getBigUint64(8, true) << 64n) | view.getBigUint64(0, true) },
	14: { length: 4, read: (view) => view.getFloat32(0, true) },
	15: { length: 8, read: (view) => view.getFloat64(0, true) },
};

const MAX_FIELD = 255;

interface Field {
	value: HeaderValue;
	end: number;
}

/**
 * The headers of a record whose names are texts. Servers do not check header blocks, so one may be anything: what is
 * readable before the first broken entry is returned.
 */
export function readHeaders(block: Uint8Array): ReadonlyMap<string, HeaderValue> {
	const headers = new Map<string, HeaderValue>();
	const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
	let at = 0;
	while (at < block.length) {
		const key = readField(view, at);
		const value = key && readField(view, key.end);
		if (key === undefined || value === undefined) break;
		if (typeof key.value === 'string') headers.set(key.value, value.value);
		at = value.end;
	}
	return headers;
}

function readField(view: DataView, at: number): Field | undefined {
	if (at + 5 > view.byteLength) return undefined;
	const kind = view.getUint8(at);
	const length = view.getUint32(at + 1, true);
	const end = at + 5 + length;
	if (kind === 0 || length < 1 || length > MAX_FIELD || end > view.byteLength) return undefined;
	const field = new DataView(view.buffer, view.byteOffset + at + 5, length);
	const reader = READERS[kind];
	const isReadable = reader !== undefined && (reader.length === undefined || reader.length === length);
	const value = isReadable
		? reader.read(field)
		: new Uint8Array(field.buffer, field.byteOffset, field.byteLength).slice();
	return { value, end };
}
