import { hash64 } from '../log/hash.js';
import { METADATA_OPERATIONS, Operation, UPDATE_RESOURCE } from './codes.js';
import type { RequestHeader } from './frame.js';

export function isZero(bytes: Buffer): boolean {
	return bytes.every((byte) => byte === 0);
}

/** In 0.11 a request's checksum is either zero or the XXH3-64 of its body, zero-extended. */
export function checksumFits(header: RequestHeader, body: Buffer): boolean {
	const low = header.checksum.readBigUInt64LE(0);
	const high = header.checksum.readBigUInt64LE(8);
	if (low === 0n && high === 0n) return true;
	return high === 0n && low === hash64(body);
}

/** In 0.12 the same field identifies a metadata request, login or logout; elsewhere it is zero. */
export function identifierFits(header: RequestHeader): boolean {
	const { operation } = header;
	const identified =
		operation === Operation.register ||
		operation === Operation.logout ||
		operation === UPDATE_RESOURCE ||
		METADATA_OPERATIONS.has(operation);
	return isZero(header.checksum) !== identified;
}

const SUCCESS = Buffer.alloc(4);

/** The section in front of a replicated command's payload: empty on success, one entry on refusal. */
export function resultSection(code: number, payload?: Buffer): Buffer {
	if (code === 0) return payload ? Buffer.concat([SUCCESS, payload]) : SUCCESS;
	const section = Buffer.alloc(12);
	section.writeUInt32LE(1, 0);
	section.writeUInt32LE(code, 8);
	return section;
}
