import { randomFillSync } from 'node:crypto';
import type { NewRecord, StoredRecord } from '../contract.js';
import { hash64 } from './hash.js';

/** Layout of a stored batch: a 256-byte header, then message frames back to back. */
export const BATCH_HEADER = 256;
export const FRAME_HEADER = 48;

const PARTITION = 0;
const BASE_OFFSET = 8;
const BASE_TIMESTAMP = 16;
const ORIGIN_TIMESTAMP = 24;
const LENGTH = 32;
const CHECKSUM = 40;
const COUNT = 48;
const PRODUCER_FLAG = 52;
const PRODUCER_ID = 56;
const PRODUCER_EPOCH = 64;
const PRODUCER_SEQUENCE = 68;
const RESERVED = 72;

const FRAME_ID = 8;
const FRAME_OFFSET_DELTA = 24;
const FRAME_TIME_DELTA = 28;
const FRAME_HEADERS_LENGTH = 32;
const FRAME_PAYLOAD_LENGTH = 36;
const FRAME_RESERVED = 40;

export type BatchFault = 'format' | 'message checksum' | 'batch checksum';

export interface Stamp {
	partitionId: number;
	baseOffset: bigint;
	timestampMicros: bigint;
}

export function batchLength(batch: Buffer): number {
	return Number(batch.readBigUInt64LE(LENGTH));
}

export function batchCount(batch: Buffer): number {
	return batch.readUInt32LE(COUNT);
}

export function batchBaseOffset(batch: Buffer): bigint {
	return batch.readBigUInt64LE(BASE_OFFSET);
}

export function batchChecksumOf(batch: Buffer): bigint {
	return batch.readBigUInt64LE(CHECKSUM);
}

export function batchTimestamp(batch: Buffer): bigint {
	return batch.readBigUInt64LE(BASE_TIMESTAMP);
}

function frameLength(batch: Buffer, at: number): number {
	return (
		FRAME_HEADER +
		batch.readUInt32LE(at + FRAME_HEADERS_LENGTH) +
		batch.readUInt32LE(at + FRAME_PAYLOAD_LENGTH)
	);
}

/**
 * Bytes 0-39 and 48-51 of the header, the producer when there is one, then the checksum of every frame; payloads
 * enter only through those.
 */
function batchChecksum(batch: Buffer, count: number): bigint {
	const produced = batch[PRODUCER_FLAG] === 1;
	const input = Buffer.allocUnsafe((produced ? 59 : 44) + 8 * count);
	batch.copy(input, 0, 0, 40);
	batch.copy(input, 40, COUNT, COUNT + 4);
	let at = BATCH_HEADER;
	let to = 44;
	if (produced) {
		input[to] = 1;
		batch.copy(input, to + 1, PRODUCER_ID, PRODUCER_EPOCH + 2);
		batch.copy(input, to + 11, PRODUCER_SEQUENCE, PRODUCER_SEQUENCE + 4);
		to += 15;
	}
	for (let index = 0; index < count; index++) {
		input.writeInt32LE(batch.readInt32LE(at), to);
		input.writeInt32LE(batch.readInt32LE(at + 4), to + 4);
		to += 8;
		at += frameLength(batch, at);
	}
	return hash64(input);
}

function seal(batch: Buffer, count: number): void {
	batch.writeBigUInt64LE(batchChecksum(batch, count), CHECKSUM);
}

export interface Producer {
	id: bigint;
	epoch: number;
	/** Sequence number of the batch's first message; the next one follows on, and wraps to 0 after 2^31-1. */
	sequence: number;
}

/** The producer that a verified batch names. */
export function batchProducer(batch: Buffer): Producer | undefined {
	if (batch[PRODUCER_FLAG] !== 1) return undefined;
	return {
		id: batch.readBigUInt64LE(PRODUCER_ID),
		epoch: batch.readUInt16LE(PRODUCER_EPOCH),
		sequence: batch.readUInt32LE(PRODUCER_SEQUENCE),
	};
}

function producerFits(batch: Buffer, allowed: boolean): boolean {
	const flag = batch.readUInt32LE(PRODUCER_FLAG);
	if (flag === 0) return batch.subarray(PRODUCER_ID, RESERVED).every((byte) => byte === 0);
	if (flag !== 1 || !allowed) return false;
	const signed = batch[PRODUCER_ID + 7]! | batch[PRODUCER_EPOCH + 1]! | batch[PRODUCER_SEQUENCE + 3]!;
	return signed < 0x80 && batch.readUInt16LE(PRODUCER_EPOCH + 2) === 0;
}

/**
 * Checks everything about a producer's batch before it may be stored. `batch` holds exactly one batch. Only some
 * protocol versions know the producer section.
 */
export function verifyBatch(
	batch: Buffer,
	expectedCount?: number,
	mayNameProducer = true,
): BatchFault | undefined {
	if (batch.length < BATCH_HEADER) return 'format';
	if (batch.readBigUInt64LE(LENGTH) !== BigInt(batch.length)) return 'format';
	const count = batchCount(batch);
	if (count === 0 || (expectedCount !== undefined && count !== expectedCount)) return 'format';
	if (count > (batch.length - BATCH_HEADER) / FRAME_HEADER) return 'format';
	if (!producerFits(batch, mayNameProducer)) return 'format';
	for (let at = RESERVED; at < BATCH_HEADER; at += 4) if (batch.readInt32LE(at) !== 0) return 'format';
	let at = BATCH_HEADER;
	for (let index = 0; index < count; index++) {
		if (at + FRAME_HEADER > batch.length) return 'format';
		const end = at + frameLength(batch, at);
		if (end > batch.length) return 'format';
		if (batch.readUInt32LE(at + FRAME_OFFSET_DELTA) !== index) return 'format';
		if (batch.readInt32LE(at + FRAME_RESERVED) !== 0 || batch.readInt32LE(at + FRAME_RESERVED + 4) !== 0)
			return 'format';
		if (hash64(batch.subarray(at + 8, end)) !== batch.readBigUInt64LE(at)) return 'message checksum';
		at = end;
	}
	if (at !== batch.length) return 'format';
	if (batchChecksum(batch, count) !== batch.readBigUInt64LE(CHECKSUM)) return 'batch checksum';
	return undefined;
}

/** Turns a verified producer's batch into the stored form, in place. */
export function stampBatch(batch: Buffer, stamp: Stamp): void {
	batch.writeBigUInt64LE(BigInt(stamp.partitionId), PARTITION);
	batch.writeBigUInt64LE(stamp.baseOffset, BASE_OFFSET);
	batch.writeBigUInt64LE(stamp.timestampMicros, BASE_TIMESTAMP);
	seal(batch, batchCount(batch));
}

/** Length and count that the header of a stored batch claims; undefined when it cannot be one. */
export function peekStored(bytes: Buffer, at: number): { length: number; count: number } | undefined {
	if (at + BATCH_HEADER > bytes.length) return undefined;
	const length = bytes.readBigUInt64LE(at + LENGTH);
	const count = bytes.readUInt32LE(at + COUNT);
	if (length < BigInt(BATCH_HEADER) || length > BigInt(bytes.length - at) || count === 0) return undefined;
	return { length: Number(length), count };
}

const NO_HEADERS = new Uint8Array(0);

export function buildBatch(records: readonly NewRecord[], originMicros: bigint): Buffer {
	let length = BATCH_HEADER;
	for (const record of records)
		length += FRAME_HEADER + record.payload.length + (record.headers?.length ?? 0);
	const batch = Buffer.allocUnsafe(length);
	batch.fill(0, 0, BATCH_HEADER);
	batch.writeBigUInt64LE(originMicros, ORIGIN_TIMESTAMP);
	batch.writeBigUInt64LE(BigInt(length), LENGTH);
	batch.writeUInt32LE(records.length, COUNT);
	const ids = Buffer.allocUnsafe(16 * records.length);
	randomFillSync(ids);
	let at = BATCH_HEADER;
	records.forEach((record, index) => {
		const headers = record.headers ?? NO_HEADERS;
		const end = at + FRAME_HEADER + record.payload.length + headers.length;
		ids.copy(batch, at + FRAME_ID, 16 * index, 16 * index + 16);
		batch.writeUInt32LE(index, at + FRAME_OFFSET_DELTA);
		batch.writeUInt32LE(0, at + FRAME_TIME_DELTA);
		batch.writeUInt32LE(headers.length, at + FRAME_HEADERS_LENGTH);
		batch.writeUInt32LE(record.payload.length, at + FRAME_PAYLOAD_LENGTH);
		batch.writeInt32LE(0, at + FRAME_RESERVED);
		batch.writeInt32LE(0, at + FRAME_RESERVED + 4);
		batch.set(record.payload, at + FRAME_HEADER);
		if (headers.length > 0) batch.set(headers, at + FRAME_HEADER + record.payload.length);
		batch.writeBigUInt64LE(hash64(batch.subarray(at + 8, end)), at);
		at = end;
	});
	seal(batch, records.length);
	return batch;
}

/**
 * Cuts frames off a stored batch: keeps those whose position in the batch is in [skip, skip + take).
 * The base offset stays; length, count and checksum describe what is left.
 */
export function sliceBatch(batch: Buffer, skip: number, take: number): Buffer {
	const count = batchCount(batch);
	let from = BATCH_HEADER;
	for (let index = 0; index < skip; index++) from += frameLength(batch, from);
	const kept = Math.min(take, count - skip);
	let to = from;
	for (let index = 0; index < kept; index++) to += frameLength(batch, to);
	const slice = Buffer.allocUnsafe(BATCH_HEADER + to - from);
	batch.copy(slice, 0, 0, BATCH_HEADER);
	batch.copy(slice, BATCH_HEADER, from, to);
	slice.writeBigUInt64LE(BigInt(slice.length), LENGTH);
	slice.writeUInt32LE(kept, COUNT);
	seal(slice, kept);
	return slice;
}

/** How many leading frames of `batch` after `skip` fit into `room` bytes, at least one. */
export function framesThatFit(batch: Buffer, skip: number, take: number, room: number): number {
	let at = BATCH_HEADER;
	for (let index = 0; index < skip; index++) at += frameLength(batch, at);
	let used = BATCH_HEADER;
	let fitting = 0;
	while (fitting < take) {
		const length = frameLength(batch, at);
		if (fitting > 0 && used + length > room) break;
		used += length;
		at += length;
		fitting++;
	}
	return fitting;
}

/** The records of stored batches that stand back to back in `bytes`. */
export function readRecords(bytes: Buffer): StoredRecord[] {
	const records: StoredRecord[] = [];
	let start = 0;
	while (start < bytes.length) {
		const batch = bytes.subarray(start);
		const base = batchBaseOffset(batch);
		const timestampMicros = batchTimestamp(batch);
		const count = batchCount(batch);
		let at = BATCH_HEADER;
		for (let index = 0; index < count; index++) {
			const payloadAt = at + FRAME_HEADER;
			const headersAt = payloadAt + batch.readUInt32LE(at + FRAME_PAYLOAD_LENGTH);
			const end = headersAt + batch.readUInt32LE(at + FRAME_HEADERS_LENGTH);
			records.push({
				offset: base + BigInt(batch.readUInt32LE(at + FRAME_OFFSET_DELTA)),
				timestampMicros,
				payload: batch.subarray(payloadAt, headersAt),
				headers: batch.subarray(headersAt, end),
			});
			at = end;
		}
		start += batchLength(batch);
	}
	return records;
}
