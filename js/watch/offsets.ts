import type { Positions } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';

/** Saved offsets, by partition: a map, or a list whose index is the partition. The value is the next offset to read. */
export type Offsets = ReadonlyMap<number, bigint> | readonly bigint[];

const MAX_OFFSET = 2n ** 64n - 1n;
const MAX_PARTITION = 2 ** 32 - 1;

/** As the application sees positions: within 64 bits. After the last offset that there can be, they stay on it. */
export function saturated(positions: Positions): Positions {
	return new Map(
		Array.from(positions, ([partition, next]) => [partition, next > MAX_OFFSET ? MAX_OFFSET : next]),
	);
}

/**
 * The offsets as entries of a map.
 *
 * @throws {InvalidError} an entry is not a bigint within 64 bits, or a partition is not a whole number
 */
export function checkOffsets(offsets: Offsets): [number, bigint][] {
	const entries: [number, bigint][] = Array.isArray(offsets)
		? // Not `map`: it passes over holes, which then have no entry to refuse.
			Array.from(offsets as readonly bigint[], (next, partition) => [partition, next])
		: [...entriesOf(offsets as ReadonlyMap<number, bigint>)];
	for (const [partition, next] of entries) {
		if (!Number.isInteger(partition) || partition < 0 || partition > MAX_PARTITION) {
			throw new InvalidError(`offsets: ${partition} is not a partition`, { rule: 'argument' });
		}
		if (typeof next !== 'bigint' || next < 0n || next > MAX_OFFSET) {
			throw new InvalidError(`offsets: the offset of partition ${partition} is not a 64-bit bigint`, {
				rule: 'argument',
			});
		}
	}
	return entries;
}

function entriesOf(
	offsets: Partial<ReadonlyMap<number, bigint>> | null | undefined,
): Iterable<[number, bigint]> {
	if (typeof offsets?.entries === 'function') return offsets.entries();
	throw new InvalidError('offsets: not a map and not a list', { rule: 'argument' });
}

/** JSON text of saved offsets. Offsets are written as text: JSON numbers lose digits above 2^53. */
export function offsetsToJSON(offsets: Offsets): string {
	const entries = checkOffsets(offsets);
	return JSON.stringify(
		Array.isArray(offsets)
			? entries.map(([, next]) => String(next))
			: Object.fromEntries(entries.map(([partition, next]) => [partition, String(next)])),
	);
}

/**
 * Offsets from their JSON text, or from what it parses to.
 *
 * @throws {InvalidError} not what offsetsToJSON writes
 */
export function offsetsFromJSON(json: unknown): Offsets {
	const value = typeof json === 'string' ? parse(json) : json;
	if (Array.isArray(value)) {
		const list = value.map(toOffset);
		checkOffsets(list);
		return list;
	}
	if (typeof value !== 'object' || value === null)
		throw new InvalidError('offsets: not a map and not a list');
	const map = new Map(Object.entries(value).map(([key, next]) => [toPartition(key), toOffset(next)]));
	checkOffsets(map);
	return map;
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw new InvalidError('offsets: not JSON', {}, { cause });
	}
}

/** Strict, since `Number` reads "" as 0 and "01" as 1: a damaged text would move another partition. */
function toPartition(text: string): number {
	if (!/^(0|[1-9]\d{0,9})$/.test(text)) {
		throw new InvalidError('offsets: a partition is written in plain digits', { rule: 'argument' });
	}
	return Number(text);
}

function toOffset(text: unknown): bigint {
	if (typeof text !== 'string' || !/^\d{1,20}$/.test(text)) {
		throw new InvalidError('offsets: an offset is written as text of digits');
	}
	return BigInt(text);
}
