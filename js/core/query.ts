import type { Memory } from './memory.js';
import { readTape } from './tape.js';

/** Kinds of columns, by the number that the core gives them. */
export const KINDS = [
	'boolean',
	'int',
	'long',
	'float',
	'double',
	'decimal',
	'date',
	'time_micros',
	'timestamp_micros',
	'timestamp_tz_micros',
	'string',
	'uuid',
	'fixed',
	'binary',
	'struct',
	'list',
	'map',
] as const;

export type ColumnKind = (typeof KINDS)[number];

/**
 * One column, in the memory layout of Apache Arrow but for two things: a `fixed` has offsets as a `binary` does, and a
 * struct has offsets too, so that a null takes no room in its children. Owned by the caller.
 */
export interface QueryColumn {
	readonly kind: ColumnKind;
	readonly length: number;
	readonly nullCount: number;
	/** One bit a slot, 1 = not null; undefined when nothing is null. */
	readonly validity: Uint8Array | undefined;
	/**
	 * boolean: bits · int, date: Int32Array · long and times: BigInt64Array · float: Float32Array · double: Float64Array ·
	 * decimal: 16 bytes a slot, little-endian two's complement · uuid: 16 bytes a slot · string, fixed, binary: the bytes
	 */
	readonly values: Uint8Array | Int32Array | BigInt64Array | Float32Array | Float64Array;
	/** `length + 1` places: in `values` of string, fixed and binary; in the children of struct, list and map. */
	readonly offsets: Uint32Array | undefined;
	/** Of a string: the same places in the decoded text. The very `offsets` when all of it is ASCII. */
	readonly utf16: Uint32Array | undefined;
	readonly precision: number;
	readonly scale: number;
	/** A struct's fields, a list's element, a map's key and value. */
	readonly children: readonly QueryColumn[];
}

/** A page of a query result as the core hands it over. `details` and `fields` are camelCase objects. */
export interface QueryPageColumns {
	readonly rows: number;
	readonly fields: unknown;
	readonly details: { readonly page: unknown; readonly context: unknown };
	readonly columns: readonly QueryColumn[];
	readonly scores: QueryColumn | undefined;
}

const HEAD = { ticket: 0, rows: 1, details: 2, fields: 4, scores: 6, count: 7, columns: 8 } as const;
const COLUMN_WORDS = 12;

export interface DeliveredPage {
	readonly ticket: number;
	readonly page: QueryPageColumns;
}

/** Reads the page whose words (wasm/query.cpp) the descriptor points at. One buffer holds all columns. */
export function ownedPage(memory: Memory, descriptor: number): DeliveredPage {
	return readPage(memory, descriptor, true);
}

/** As ownedPage, but the columns are views of wasm memory: they die with the next call into the module. */
export function viewedPage(memory: Memory, descriptor: number): DeliveredPage {
	return readPage(memory, descriptor, false);
}

function readPage(memory: Memory, descriptor: number, owned: boolean): DeliveredPage {
	const words = memory.words();
	const at = words[descriptor >>> 2]! >>> 2;
	const bytes = memory.bytes();
	const count = words[at + HEAD.count]!;
	const hasScores = words[at + HEAD.scores] === 1;
	const total = count + (hasScores ? 1 : 0);
	const owner = new ColumnReader(words, bytes, at + HEAD.columns, owned ? total : undefined);
	const columns: QueryColumn[] = [];
	let next = 0;
	while (next < count) {
		const [column, end] = owner.tree(next);
		columns.push(column);
		next = end;
	}
	return {
		ticket: words[at + HEAD.ticket]!,
		page: {
			rows: words[at + HEAD.rows]!,
			details: readTape(bytes, words[at + HEAD.details]!, words[at + HEAD.details + 1]!) as {
				page: unknown;
				context: unknown;
			},
			fields: readFields(bytes, words[at + HEAD.fields]!, words[at + HEAD.fields + 1]!),
			columns,
			scores: hasScores ? owner.tree(count)[0] : undefined,
		},
	};
}

/** Results share it, so none may change it. */
function deepFreeze(value: unknown): unknown {
	if (typeof value !== 'object' || value === null) return value;
	for (const part of Object.values(value)) deepFreeze(part);
	return Object.freeze(value);
}

let lastTape = new Uint8Array();
let lastFields: unknown;

/** Pages come with the same fields again and again: reading them takes a third of the time of a page of columns. */
function readFields(memory: Uint8Array, address: number, length: number): unknown {
	if (length === lastTape.length) {
		let same = 0;
		while (same < length && lastTape[same] === memory[address + same]) same++;
		if (same === length) return lastFields;
	}
	lastTape = memory.slice(address, address + length);
	lastFields = deepFreeze(readTape(memory, address, length));
	return lastFields;
}

/**
 * Reads columns in place, or, given how many there are, copies all of them into one buffer of exactly the size that they
 * need: each starts at a multiple of 8.
 */
class ColumnReader {
	readonly #words: Uint32Array;
	readonly #heap: Uint8Array;
	readonly #at: number;
	readonly #target: Uint8Array | undefined;
	readonly #buffer: ArrayBuffer;
	#used = 0;

	constructor(words: Uint32Array, heap: Uint8Array, at: number, copied: number | undefined) {
		this.#words = words;
		this.#heap = heap;
		this.#at = at;
		if (copied !== undefined) this.#target = new Uint8Array(this.#size(copied));
		this.#buffer = (this.#target ?? heap).buffer as ArrayBuffer;
	}

	#size(count: number): number {
		const words = this.#words;
		let size = 0;
		for (let index = 0; index < count; index++) {
			const column = this.#at + index * COLUMN_WORDS;
			if (words[column + 4] !== 0) size += round((words[column + 1]! + 7) >>> 3);
			size += round(words[column + 6]!);
			if (words[column + 7] !== 0) size += round(words[column + 9]! * 4);
			if (words[column + 8] !== 0) size += round(words[column + 9]! * 4);
		}
		return size;
	}

	/** The column of a node and the node after its subtree. */
	tree(node: number): [QueryColumn, number] {
		const words = this.#words;
		const at = this.#at + node * COLUMN_WORDS;
		const kind = KINDS[words[at]!]!;
		const length = words[at + 1]!;
		const validity = words[at + 4]!;
		const offsets = words[at + 7]! === 0 ? undefined : this.#u32(words[at + 7]!, words[at + 9]!);
		const utf16 = words[at + 8]! === 0 ? undefined : this.#u32(words[at + 8]!, words[at + 9]!);
		const column = {
			kind,
			length,
			nullCount: words[at + 2]!,
			validity: validity === 0 ? undefined : this.#bytes(validity, (length + 7) >>> 3),
			values: this.#values(kind, words[at + 5]!, words[at + 6]!),
			offsets,
			utf16: kind === 'string' ? (utf16 ?? offsets) : undefined,
			precision: words[at + 10]!,
			scale: words[at + 11]!,
			children: [] as QueryColumn[],
		};
		let next = node + 1;
		for (let left = words[at + 3]!; left > 0; left--) {
			const [child, end] = this.tree(next);
			column.children.push(child);
			next = end;
		}
		return [column, next];
	}

	#values(kind: ColumnKind, address: number, length: number): QueryColumn['values'] {
		const start = this.#place(address, length);
		const buffer = this.#buffer;
		switch (kind) {
			case 'int':
			case 'date':
				return new Int32Array(buffer, start, length >>> 2);
			case 'long':
			case 'time_micros':
			case 'timestamp_micros':
			case 'timestamp_tz_micros':
				return new BigInt64Array(buffer, start, length >>> 3);
			case 'float':
				return new Float32Array(buffer, start, length >>> 2);
			case 'double':
				return new Float64Array(buffer, start, length >>> 3);
			default:
				return new Uint8Array(buffer, start, length);
		}
	}

	#u32(address: number, count: number): Uint32Array {
		return new Uint32Array(this.#buffer, this.#place(address, count * 4), count);
	}

	#bytes(address: number, length: number): Uint8Array {
		return new Uint8Array(this.#buffer, this.#place(address, length), length);
	}

	#place(address: number, length: number): number {
		if (this.#target === undefined) return address;
		const start = this.#used;
		this.#target.set(this.#heap.subarray(address, address + length), start);
		this.#used = start + round(length);
		return start;
	}
}

function round(bytes: number): number {
	return (bytes + 7) & ~7;
}
