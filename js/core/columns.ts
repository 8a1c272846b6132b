import type { ChangeColumns, RecordColumns } from './contract.js';
import { type Memory, OwnedColumns, ViewedColumns } from './memory.js';

/** `stream` of a change that names none. */
export const NO_NAME = 0xffff_ffff;

/**
 * Layout of a batch in the descriptor, in words (wasm/descriptor.hpp). All batches start with the reader, the number
 * of entries, the tape that says what is not a column, and the size of the name table.
 */
export const BATCH = { reader: 0, count: 1, tape: 2, tapeLength: 3, names: 4, columns: 5 } as const;

/** Copies a change batch out: everything that it returns belongs to the caller. */
export function ownedChanges(memory: Memory, descriptor: number, names: readonly string[]): ChangeColumns {
	const count = memory.words()[(descriptor >>> 2) + BATCH.count]!;
	return changes(memory, descriptor, names, new OwnedColumns(memory.bytes(), count * (4 * 8 + 5 * 4)));
}

export const noChanges: ChangeColumns = {
	kind: 'changes',
	count: 0,
	offset: new BigUint64Array(),
	timestampMicros: new BigUint64Array(),
	fromOffset: new BigUint64Array(),
	toOffset: new BigUint64Array(),
	feedPartitionId: new Uint32Array(),
	partitionId: new Uint32Array(),
	rows: new Uint32Array(),
	index: new Uint32Array(),
	stream: new Uint32Array(),
	names: [],
};

/** A change batch in place: to be read before the next call into the module, and not kept. */
export function viewedChanges(memory: Memory, descriptor: number, names: readonly string[]): ChangeColumns {
	return changes(memory, descriptor, names, new ViewedColumns(memory.bytes().buffer as ArrayBuffer));
}

function changes(
	memory: Memory,
	descriptor: number,
	names: readonly string[],
	taken: OwnedColumns | ViewedColumns,
): ChangeColumns {
	const words = memory.words();
	const at = descriptor >>> 2;
	const count = words[at + BATCH.count]!;
	const column = (index: number) => words[at + BATCH.columns + index]!;
	return {
		kind: 'changes',
		count,
		offset: taken.u64(column(1), count),
		timestampMicros: taken.u64(column(2), count),
		fromOffset: taken.u64(column(4), count),
		toOffset: taken.u64(column(5), count),
		feedPartitionId: taken.u32(column(0), count),
		partitionId: taken.u32(column(3), count),
		rows: taken.u32(column(6), count),
		index: taken.u32(column(7), count),
		stream: taken.u32(column(8), count),
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
