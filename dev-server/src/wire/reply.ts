import { hash64 } from '../log/hash.js';
import type { RequestHeader } from './frame.js';

/** A request's checksum is either zero or the XXH3-64 of its body, zero-extended. */
export function checksumFits(header: RequestHeader, body: Buffer): boolean {
	const low = header.checksum.readBigUInt64LE(0);
	const high = header.checksum.readBigUInt64LE(8);
	if (low === 0n && high === 0n) return true;
	return high === 0n && low === hash64(body);
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
