/** The user header block of a record, as far as projecting needs it. A block that does not parse counts as empty. */

export interface ProjectionHeaders {
	contentType: number | undefined;
	projectionRef: string | undefined;
	inline: boolean;
	/** Explicit indexed scalars, by field name. */
	index: Map<string, string> | undefined;
}

const NONE: ProjectionHeaders = {
	contentType: undefined,
	projectionRef: undefined,
	inline: false,
	index: undefined,
};
const STRING = 2;
const BOOL = 3;
const UINT8 = 9;
const INDEX_PREFIX = 'agdx.idx.';

interface HeaderField {
	kind: number;
	data: Buffer;
}

function fieldsOf(block: Uint8Array): HeaderField[] | undefined {
	const buffer = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
	const fields: HeaderField[] = [];
	let at = 0;
	while (at < buffer.length) {
		if (buffer.length - at < 5) return undefined;
		const length = buffer.readUInt32LE(at + 1);
		if (length < 1 || length > 255 || buffer.length - at - 5 < length) return undefined;
		fields.push({ kind: buffer[at]!, data: buffer.subarray(at + 5, at + 5 + length) });
		at += 5 + length;
	}
	return fields.length % 2 === 0 ? fields : undefined;
}

export function readProjectionHeaders(block: Uint8Array): ProjectionHeaders {
	if (block.length === 0) return NONE;
	const fields = fieldsOf(block);
	if (fields === undefined) return NONE;
	const headers: ProjectionHeaders = { ...NONE };
	for (let i = 0; i < fields.length; i += 2) {
		const key = fields[i]!.data.toString('utf8');
		const { kind, data } = fields[i + 1]!;
		if (key === 'agdx.ct' && kind === UINT8) headers.contentType = data[0];
		else if (key === 'agdx.ref' && kind === STRING) headers.projectionRef = data.toString('utf8');
		else if (key === 'agdx.inline' && kind === BOOL) headers.inline = data[0] === 1;
		else if (key.startsWith(INDEX_PREFIX) && kind === STRING) {
			headers.index ??= new Map();
			headers.index.set(key.slice(INDEX_PREFIX.length), data.toString('utf8'));
		}
	}
	return headers;
}
