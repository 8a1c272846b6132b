import { xxh3, xxh32 } from '@node-rs/xxhash';

/** XXH3-64, seed 0: every checksum of the wire. */
export function hash64(bytes: Uint8Array): bigint {
	return xxh3.xxh64(bytes);
}

/** XXH32, seed 0: the choice of a partition from a messages key, and nothing else. */
export function hash32(bytes: Uint8Array): number {
	return xxh32(bytes, 0);
}
