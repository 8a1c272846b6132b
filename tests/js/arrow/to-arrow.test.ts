/** Results as Arrow tables: every kind at its boundaries, through the IPC form and back. */
import { type Table, tableFromIPC, tableToIPC, type Vector } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FieldTypeInput, ValueInput } from '../../../dev-server/src/contract.js';
import { type DevServer, startServer } from '../../../dev-server/src/index.js';
import { toArrow } from '../../../js/arrow.js';
import { Laser } from '../../../js/index.js';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);
const NINES = '9'.repeat(38);
const LARGEST = 10n ** 38n - 1n;
const bytes = (...values: number[]) => Uint8Array.from(values);
const PAIR: FieldTypeInput = {
	kind: 'struct',
	fields: [
		{ name: 'n', type: 'int', required: true },
		{ name: '__proto__', type: 'string' },
		{ name: 'yes', type: 'boolean' },
		{ name: 'big', type: { kind: 'decimal', precision: 38, scale: 0 } },
		{ name: 'in', type: { kind: 'struct', fields: [{ name: 'x', type: 'double', required: true }] } },
	],
};

let server: DevServer;
let laser: Laser;
let made = 0;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0', readyAfterMs: 0 });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', { username: 'iggy', password: 'iggy' });
	await laser.waitUntilReady(30_000);
}, 60_000);

afterAll(async () => {
	await laser?.close();
	await server?.close();
});

async function fetched(type: FieldTypeInput, values: readonly ValueInput[]) {
	const index = `arrow_${++made}`;
	await server.plane!.createIndex(
		index,
		[{ name: 'v', type }],
		values.map((value) => [value]),
	);
	return laser.queryTarget({ kind: 'operational', index }).limit(1000).fetch();
}

async function column(type: FieldTypeInput, values: readonly ValueInput[]): Promise<Vector> {
	const table = toArrow(await fetched(type, values));
	const back: Table = tableFromIPC(tableToIPC(table, 'stream'));
	expect(back.schema.fields.map(String)).toEqual(table.schema.fields.map(String));
	expect(back.numRows).toBe(values.length);
	return back.getChildAt(0)!;
}

/** Slots of 64 bits and of 128 as they are, without the library's conversions to numbers. */
function whole(vector: Vector, slots: number): (bigint | null)[] {
	const { values, offset } = vector.data[0]!;
	const wide = new BigInt64Array(values.buffer, values.byteOffset, values.byteLength >>> 3);
	const per = vector.type.bitWidth === 128 ? 2 : 1;
	return Array.from({ length: slots }, (_, slot) => {
		if (!vector.isValid(slot)) return null;
		const low = wide[(offset + slot) * per]!;
		return per === 1 ? low : (wide[slot * 2 + 1]! << 64n) | BigInt.asUintN(64, low);
	});
}

describe('kinds at their ends, through Arrow and back', () => {
	const numbers: [FieldTypeInput, ValueInput[]][] = [
		['boolean', [true, false, null, true]],
		['int', [2147483647, -2147483648, 0, null]],
		['long', [MAX, MIN, 2n ** 53n + 1n, null]],
		['float', [Math.fround(0.1), 3.4028234663852886e38, 1.401298464324817e-45, null]],
		['double', [0.1, Number.MAX_VALUE, Number.MIN_VALUE, null]],
		['string', ['', 'ß\u{1F9EA}\u0000x', 'a'.repeat(70_000), null]],
		['binary', [bytes(), bytes(0, 255), null]],
		[{ kind: 'fixed', length: 3 }, [bytes(0, 0, 0), null, bytes(255, 1, 2)]],
	];
	for (const [type, values] of numbers)
		it(typeof type === 'string' ? type : type.kind, async () => {
			const vector = await column(type, values);
			expect(Array.from({ length: values.length }, (_, slot) => vector.get(slot))).toEqual(values);
		});

	const wide: [string, FieldTypeInput, (bigint | null)[]][] = [
		['time_micros', 'time_micros', [0n, 86_399_999_999n, null]],
		['timestamp_micros', 'timestamp_micros', [MAX, MIN, null, 1_700_000_000_123_457n]],
		['timestamp_tz_micros', 'timestamp_tz_micros', [MAX, MIN, null]],
	];
	for (const [name, type, values] of wide)
		it(name, async () => expect(whole(await column(type, values), values.length)).toEqual(values));

	it('date', async () => {
		const vector = await column('date', [2147483647, -2147483648, null]);
		expect([...(vector.data[0]!.values as Int32Array).subarray(0, 2)]).toEqual([2147483647, -2147483648]);
		expect(vector.get(2)).toBeNull();
	});

	it('decimal of 38 digits', async () => {
		const vector = await column({ kind: 'decimal', precision: 38, scale: 10 }, [
			`${NINES.slice(10)}.${NINES.slice(0, 10)}`,
			`-${NINES.slice(10)}.${NINES.slice(0, 10)}`,
			'-0.0000000001',
			null,
		]);
		expect(vector.type).toMatchObject({ precision: 38, scale: 10, bitWidth: 128 });
		expect(whole(vector, 4)).toEqual([LARGEST, -LARGEST, -1n, null]);
	});

	it('uuid, under the canonical extension name', async () => {
		const result = await fetched('uuid', ['ffffffff-ffff-ffff-ffff-fffffffffffe', null]);
		const table = tableFromIPC(tableToIPC(toArrow(result)));
		expect(table.schema.fields[0]!.metadata.get('ARROW:extension:name')).toBe('arrow.uuid');
		expect(table.schema.fields[0]!.metadata.get('PARQUET:field_id')).toBe('1');
		expect(table.getChildAt(0)!.get(0)).toEqual(bytes(...Array(15).fill(255), 254));
		expect(table.getChildAt(0)!.get(1)).toBeNull();
	});

	it('structs that are null keep their members in step', async () => {
		const vector = await column(PAIR, [
			null,
			[7, 'a', true, LARGEST, [0.5]],
			null,
			[8, null, null, null, null],
			[9, 'c', false, -1n, [1.5]],
		]);
		const member = (at: number) =>
			Array.from({ length: 5 }, (_, slot) =>
				vector.get(slot) === null ? 'none' : vector.getChildAt(at)!.get(slot),
			);
		expect(member(0)).toEqual(['none', 7, 'none', 8, 9]);
		expect(member(1)).toEqual(['none', 'a', 'none', null, 'c']);
		expect(member(2)).toEqual(['none', true, 'none', null, false]);
		const big = vector.getChildAt(3)!;
		expect(whole(big, 5)).toEqual([null, LARGEST, null, null, -1n]);
		const inner = vector.getChildAt(4)!;
		expect([1, 3, 4].map((slot) => inner.get(slot) && inner.getChildAt(0)!.get(slot))).toEqual([
			0.5,
			null,
			1.5,
		]);
	});

	it('lists and maps, empty and null and of structs that are null', async () => {
		const lists = await column({ kind: 'list', element: 'long' }, [[MAX, null, MIN], [], null, [0n]]);
		expect([...lists].map((list) => list && [...list])).toEqual([[MAX, null, MIN], [], null, [0n]]);
		const maps = await column({ kind: 'map', key: 'string', value: PAIR }, [
			new Map<ValueInput, ValueInput>([
				['a', null],
				['b', [1, 'x', true, 5n, null]],
			]),
			new Map(),
			null,
		]);
		expect(maps.nullCount).toBe(1);
		expect([...(maps.data[0]!.valueOffsets as Int32Array)].slice(0, 4)).toEqual([0, 2, 2, 2]);
		const entries = maps.getChildAt(0)!;
		expect([...entries.getChildAt(0)!]).toEqual(['a', 'b']);
		expect(entries.getChildAt(1)!.get(0)).toBeNull();
		expect(entries.getChildAt(1)!.getChildAt(0)!.get(1)).toBe(1);
	});
});

describe('tables', () => {
	it('share the memory of the columns', async () => {
		const result = await fetched('long', [1n, 2n]);
		expect(toArrow(result).getChildAt(0)!.data[0]!.values.buffer).toBe(result.columns[0]!.values.buffer);
	});

	it('hold one batch a page, an empty page too', async () => {
		const full = await fetched('string', ['a', null]);
		const table = tableFromIPC(tableToIPC(toArrow([full, await fetched('string', []), full])));
		expect([...table.getChildAt(0)!]).toEqual(['a', null, 'a', null]);
	});

	it('are not made of pages with different fields, or of none', async () => {
		const pages = [await fetched('long', [1n]), await fetched('int', [1])];
		expect(() => toArrow(pages)).toThrow(TypeError);
		expect(() => toArrow([])).toThrow(TypeError);
	});

	it('carry scores under a name that the caller gives', async () => {
		await server.plane!.createIndex(
			'near',
			[{ name: 'at', type: { kind: 'list', element: 'float' } }],
			[[[0, 0]], [[3, 4]]],
		);
		const result = await laser
			.queryTarget({ kind: 'operational', index: 'near' })
			.nearestIn('at', [0, 0], 2)
			.fetch();
		const table = toArrow(result, { score: 'distance' });
		expect([...table.getChild('distance')!]).toEqual(result.rows.map(({ score }) => score));
		expect(table.getChild('distance')!.get(0)).not.toBeNull();
		const plain = toArrow(await fetched('int', [1]), { score: 'distance' });
		expect([...plain.getChild('distance')!]).toEqual([null]);
	});
});
