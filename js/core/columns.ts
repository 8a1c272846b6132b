import type { ChangeColumns, RecordColumns } from './contract.js';
import { type Memory, OwnedColumns } from './memory.js';

/** `stream` of a change that names none. */
export const NO_NAME = 0xffff_ffff;

/**
 * Layout of a batch in the descriptor, in words (wasm/descriptor.hpp). All batches start with the reader, the number
 * of entries, the tape that says what is not a column, and the size of the name table.
 */
export const BATCH = { reader: 0, count: 1, tape: 2, tapeLength: 3, names: 4, columns: 5 } as const;

/** Copies a change batch out: everything that it returns belongs to the caller. */
export function ownedChanges(memory: Memory, descriptor: number, names: readonly string[]): ChangeColumns {
	const words = memory.words();
	const at = descriptor >>> 2;
	const count = words[at + BATCH.count]!;
	const column = (index: number) => words[at + BATCH.columns + index]!;
	const owned = new OwnedColumns(memory.bytes(), count * (4 * 8 + 5 * 4));
	return {
		kind: 'changes',
		count,
		offset: owned.u64(column(1), count),
		timestampMicros: owned.u64(column(2), count),
		fromOffset: owned.u64(column(4), count),
		toOffset: owned.u64(column(5), count),
		feedPartitionId: owned.u32(column(0), count),
		partitionId: owned.u32(column(3), count),
		rows: owned.u32(column(6), count),
		index: owned.u32(column(7), count),
		stream: owned.u32(column(8), count),
		names,
	};
}

/** Copies a record batch out. */
export function ownedRecords(memory: Memory, descriptor: number): RecordColumns {
	const words = memory.words();
	const at = descriptor >>> 2;
	const count = words[at + BATCH.count]!;
	const column = (index: number) => words[at + BATCH.columns + index]!;
	const used = column(8);
	const starts = count + 1;
	const owned = new OwnedColumns(memory.bytes(), count * (3 * 8 + 2 * 4 + 16) + starts * 4 + used);
	return {
		kind: 'records',
		count,
		offset: owned.u64(column(1), count),
		timestampMicros: owned.u64(column(2), count),
		originTimestampMicros: owned.u64(column(3), count),
		partitionId: owned.u32(column(0), count),
		payloadStart: count === 0 ? new Uint32Array(1) : owned.u32(column(5), starts),
		headersStart: owned.u32(column(6), count),
		id: owned.bytes(column(4), count * 16),
		bytes: owned.bytes(column(7), used),
	};
}
