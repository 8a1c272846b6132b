import type { Positions, SourceIdentity } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';
import type { Position } from './types.js';

/** Where a topic is read, with what tells it from one that was made anew under its name. */
export interface Place {
	readonly positions: Positions;
	readonly identity: SourceIdentity | undefined;
}

const VERSION = 1;
const PARTITION_BYTES = 13;
const EXHAUSTED = 2n ** 64n;

/**
 * Version, whether there is an identity, count and partitions (id, next offset, exhausted); then ids and creation times of
 * stream, topic and partitions. Applications store these bytes: another layout is another version.
 */
export function encodePlace({ positions, identity }: Place): Position {
	const partitions = identity?.partitions ?? [];
	const size =
		6 + positions.size * PARTITION_BYTES + (identity === undefined ? 0 : 28 + partitions.length * 12);
	const view = new DataView(new ArrayBuffer(size));
	let at = 0;
	const u8 = (value: number): void => view.setUint8(at++, value);
	const u32 = (value: number): void => {
		view.setUint32(at, value, true);
		at += 4;
	};
	const u64 = (value: bigint): void => {
		view.setBigUint64(at, value, true);
		at += 8;
	};
	u8(VERSION);
	u8(identity === undefined ? 0 : 1);
	u32(positions.size);
	for (const [partition, next] of positions) {
		u32(partition);
		u64(next === EXHAUSTED ? next - 1n : next);
		u8(next === EXHAUSTED ? 1 : 0);
	}
	if (identity !== undefined) {
		u32(identity.streamId);
		u64(identity.streamCreatedAtMicros);
		u32(identity.topicId);
		u64(identity.topicCreatedAtMicros);
		u32(partitions.length);
		for (const { id, createdAtMicros } of partitions) {
			u32(id);
			u64(createdAtMicros);
		}
	}
	return new Uint8Array(view.buffer);
}

/** @throws {InvalidError} these are no bytes of such a position, or of a later version */
export function decodePlace(bytes: Position): Place {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let at = 0;
	const step = (size: number): number => {
		at += size;
		if (at > view.byteLength) throw refused();
		return at - size;
	};
	const u8 = (): number => view.getUint8(step(1));
	const u32 = (): number => view.getUint32(step(4), true);
	const u64 = (): bigint => view.getBigUint64(step(8), true);
	if (u8() !== VERSION) throw refused();
	const hasIdentity = u8();
	if (hasIdentity > 1) throw refused();
	const positions = new Map<number, bigint>();
	for (let left = u32(); left > 0; left--) {
		const partition = u32();
		const next = u64();
		positions.set(partition, u8() === 1 ? EXHAUSTED : next);
	}
	let identity: SourceIdentity | undefined;
	if (hasIdentity === 1) {
		const streamId = u32();
		const streamCreatedAtMicros = u64();
		const topicId = u32();
		const topicCreatedAtMicros = u64();
		const partitions: SourceIdentity['partitions'] = [];
		for (let left = u32(); left > 0; left--) {
			const id = u32();
			partitions.push({ id, createdAtMicros: u64() });
		}
		identity = { streamId, streamCreatedAtMicros, topicId, topicCreatedAtMicros, partitions };
	}
	if (at !== view.byteLength) throw refused();
	return { positions, identity };
}

function refused(): InvalidError {
	return new InvalidError('a position of another source, or of a later version', { rule: 'argument' });
}
