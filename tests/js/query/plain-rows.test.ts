import { describe, expect, test } from 'vitest';
import type { QueryColumn } from '../../../js/core/query.js';
import { plainReader } from '../../../js/query/cells.js';
import { plainRows } from '../../../js/query/rows.js';
import type { LogicalType } from '../../../js/query/schema.js';

function column(kind: 'decimal' | 'uuid', values: Uint8Array): QueryColumn {
	const length = values.length / 16;
	const validity = new Uint8Array((length + 7) >>> 3).fill(0xff);
	validity[0]! &= 0b1111_1101;
	return {
		...{ kind, length, nullCount: 1, validity, values, offsets: undefined, utf16: undefined },
		...{ precision: 38, scale: 0, children: [] },
	};
}

/** What objects hold against what one slot reads, which goes another way. */
function check(type: LogicalType, made: QueryColumn): void {
	for (const name of ['amount', '__proto__']) {
		const field = { id: 1, name, required: false, fieldType: type };
		const read = plainReader(made, type);
		const rows = plainRows([field], [made], made.length);
		expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype);
		rows.forEach((row, slot) => {
			expect(Object.getOwnPropertyDescriptor(row, name)!.value).toBe(read(slot));
		});
	}
}

describe('rows as plain objects', () => {
	const edges = [0n, 1n, -1n, 999n, -1000n, 2n ** 31n, -(2n ** 32n), 2n ** 52n - 1n, 2n ** 52n, -(2n ** 52n)];
	const unscaled = edges
		.concat(2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), -(2n ** 53n) - 1n, 2n ** 63n, -(2n ** 64n), 2n ** 64n)
		.concat(10n ** 38n - 1n, 1n - 10n ** 38n, 10n ** 15n - 1n, 10n ** 15n, 9_007_199_254_740_000n);

	test.each([0, 1, 4, 14, 15, 16, 38])('a decimal of scale %i is exact at every size', (scale) => {
		const words = BigInt64Array.from(unscaled.flatMap((value) => [value, value >> 64n]));
		check(
			{ kind: 'decimal', precision: 38, scale } as LogicalType,
			column('decimal', new Uint8Array(words.buffer)),
		);
	});

	test('uuids are written as text', () => {
		const bytes = Uint8Array.from({ length: 16 * 9 }, (_, index) => (index * 37) & 255);
		check({ kind: 'uuid' } as LogicalType, column('uuid', bytes));
	});
});
