import { NO_NAME } from './columns.js';
import type { ChangeColumns, ChangeRow } from './contract.js';

/**
 * The batch as objects. One literal a shape gives every object all its properties at once, none of them in a dictionary:
 * half the time of filling a spread template column by column.
 */
export function changeRows(columns: ChangeColumns, from = 0, to: number = columns.count): ChangeRow[] {
	const { index, stream, partitionId, fromOffset, toOffset, rows, names } = columns;
	const result: ChangeRow[] = new Array(to - from);
	for (let at = from; at < to; at++) {
		const scope = stream[at]!;
		result[at - from] =
			scope === NO_NAME
				? {
						v: 1,
						index: names[index[at]!]!,
						partitionId: partitionId[at]!,
						fromOffset: fromOffset[at]!,
						toOffset: toOffset[at]!,
						rows: rows[at]!,
					}
				: {
						v: 1,
						index: names[index[at]!]!,
						partitionId: partitionId[at]!,
						fromOffset: fromOffset[at]!,
						toOffset: toOffset[at]!,
						rows: rows[at]!,
						stream: names[scope]!,
					};
	}
	return result;
}
