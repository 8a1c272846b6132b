/** Indexes of a given schema: every kind at its ends, through the database and back, exactly. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FieldInput, FieldTypeInput, RowInput, ValueInput } from '../../src/contract.js';
import { createPlane } from '../../src/plane/index.js';
import { readTypedValue } from '../../src/plane/wire/typed_value.js';
import { type Answer, OPTIONS, plainRows, queryOn, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

let client: TestClient;

beforeAll(async () => {
	const log = new MemoryLog();
	client = new TestClient(await createPlane(log, OPTIONS), log);
});
afterAll(() => client.plane.close());

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);
const bytes = (...values: number[]) => Uint8Array.from(values);
const NINES = '9'.repeat(38);
const pred = (field: string, op: string, value: unknown) => ({ pred: { field, op, value } });

let next = 0;

async function made(schema: FieldInput[], rows: RowInput[], options = {}): Promise<string> {
	const name = `typed_${++next}`;
	await client.plane.createIndex(name, schema, rows, options);
	return name;
}

/** One column of values, asked for again: the typed values that came back. */
async function column(type: FieldTypeInput, values: ValueInput[]): Promise<Answer[]> {
	const index = await made(
		[{ name: 'v', type }],
		values.map((value) => [value]),
	);
	const reply = await client.query(index);
	expect(reply.Ok, text(reply)).toBeDefined();
	for (const row of reply.Ok.rows) readTypedValue(row.values[0], 'v');
	return reply.Ok.rows.map((row: Answer) => (row.values[0].kind === 'null' ? null : row.values[0].value));
}

describe('every kind at its ends', () => {
	const same: [string, FieldTypeInput, ValueInput[], unknown[]?][] = [
		['boolean', 'boolean', [true, false, null]],
		['int', 'int', [2147483647n, -2147483648n, 0n, null]],
		['long', 'long', [MAX, MIN, 2n ** 53n + 1n, -1n, null]],
		['float', 'float', [Math.fround(0.1), 3.4028234663852886e38, 1.401298464324817e-45, null]],
		['double', 'double', [0.1, Number.MAX_VALUE, Number.MIN_VALUE, 20, null]],
		['date', 'date', [2147483647n, -2147483648n, -2147483647n, 0n, null]],
		['time', 'time_micros', [0n, 86_399_999_999n, null]],
		['timestamp', 'timestamp_micros', [MAX, MIN, MAX - 1n, -MAX, 1_700_000_000_123_456n, null]],
		['timestamp with zone', 'timestamp_tz_micros', [MAX, MIN, -1n, null]],
		['string', 'string', ['', 'ß\u{1F9EA}\u0000x', 'a'.repeat(100_000), null]],
		['binary', 'binary', [bytes(), bytes(0, 255), null]],
		['fixed', { kind: 'fixed', length: 3 }, [bytes(0, 0, 0), bytes(255, 1, 2), null]],
		[
			'uuid',
			'uuid',
			['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', null],
			[new Uint8Array(16), new Uint8Array(16).fill(255), null],
		],
		[
			'decimal of 38 digits',
			{ kind: 'decimal', precision: 38, scale: 10 },
			[
				`${NINES.slice(10)}.${NINES.slice(0, 10)}`,
				`-${NINES.slice(10)}.${NINES.slice(0, 10)}`,
				'0',
				'-0.0000000001',
				null,
			],
			[
				{
					unscaled: Uint8Array.from(Buffer.from((10n ** 38n - 1n).toString(16), 'hex')),
					precision: 38n,
					scale: 10n,
				},
				{
					unscaled: Uint8Array.from(Buffer.from((2n ** 128n - 10n ** 38n + 1n).toString(16), 'hex')),
					precision: 38n,
					scale: 10n,
				},
				{ unscaled: bytes(0), precision: 38n, scale: 10n },
				{ unscaled: bytes(255), precision: 38n, scale: 10n },
				null,
			],
		],
		[
			'decimal of one digit',
			{ kind: 'decimal', precision: 1, scale: 1 },
			['0.9'],
			[{ unscaled: bytes(9), precision: 1n, scale: 1n }],
		],
	];
	for (const [name, type, values, expected] of same) {
		it(name, async () => expect(await column(type, values)).toEqual(expected ?? values));
	}

	it('lists, structs and maps with nulls inside, keys in canonical order', async () => {
		const type: FieldTypeInput = {
			kind: 'map',
			key: 'long',
			value: {
				kind: 'struct',
				fields: [
					{ name: 'tags', type: { kind: 'list', element: 'string' } },
					{ name: 'n', type: 'int' },
				],
			},
		};
		const value = new Map<ValueInput, ValueInput>([
			[-1n, { tags: ['x', null], n: 1 }],
			[MAX, null],
			[0n, { tags: null }],
		]);
		const [map, empty] = await column(type, [value, new Map()]);
		expect(map.map((entry: Answer) => entry.key.value)).toEqual([0n, MAX, -1n]);
		expect(map[0].value.value).toEqual([
			{ field_id: 4n, value: { kind: 'null' } },
			{ field_id: 6n, value: { kind: 'null' } },
		]);
		expect(map[1].value).toEqual({ kind: 'null' });
		expect(map[2].value.value).toEqual([
			{ field_id: 4n, value: { kind: 'list', value: [{ kind: 'string', value: 'x' }, { kind: 'null' }] } },
			{ field_id: 6n, value: { kind: 'int', value: 1n } },
		]);
		expect(empty).toEqual([]);
	});

	it('map keys of every kind that may be one', async () => {
		const keys: [FieldTypeInput, ValueInput[]][] = [
			['boolean', [false, true]],
			['int', [1, -1]],
			['date', [0, -5]],
			['time_micros', [0n, 5n]],
			['timestamp_micros', [MAX, MIN]],
			['timestamp_tz_micros', [0n, -1n]],
			['string', ['a', 'ab', 'b']],
			['binary', [bytes(1), bytes(1, 0), bytes(2)]],
			['uuid', [new Uint8Array(16), new Uint8Array(16).fill(200)]],
			[{ kind: 'fixed', length: 1 }, [bytes(0), bytes(128)]],
			[{ kind: 'decimal', precision: 5, scale: 2 }, ['1.00', '-1.00']],
		];
		for (const [key, values] of keys) {
			const pairs = [...values].reverse().map((one): [ValueInput, ValueInput] => [one, 'v']);
			const [map] = await column({ kind: 'map', key, value: 'string' }, [pairs as ValueInput[]]);
			expect(map.length).toBe(values.length);
		}
	});
});

describe('shapes', () => {
	it('a field named __proto__, at the top and inside', async () => {
		const schema: FieldInput[] = [
			{ name: '__proto__', type: 'long' },
			{
				name: 'in',
				type: {
					kind: 'struct',
					fields: [
						{ name: '__proto__', type: 'string' },
						{ name: 'constructor', type: 'string' },
					],
				},
			},
		];
		const row = JSON.parse('{"__proto__": 7, "in": {"__proto__": "p"}}') as RowInput;
		const index = await made(schema, [row]);
		const reply = await client.query(index, { filter: pred('__proto__', 'eq', { kind: 'long', value: 7n }) });
		expect(reply.Ok.fields.map((f: Answer) => f.name)).toEqual(['__proto__', 'in']);
		expect(reply.Ok.rows[0].values).toEqual([
			{ kind: 'long', value: 7n },
			{
				kind: 'struct',
				value: [
					{ field_id: 3n, value: { kind: 'string', value: 'p' } },
					{ field_id: 4n, value: { kind: 'null' } },
				],
			},
		]);
	});

	it('4,096 fields', async () => {
		const schema = Array.from({ length: 4096 }, (_, i): FieldInput => ({ name: `n${i}`, type: 'int' }));
		const index = await made(schema, [schema.map((_, i) => i)]);
		const reply = await client.query(index);
		expect(reply.Ok, text(reply).slice(0, 300)).toBeDefined();
		expect(reply.Ok.fields.length).toBe(4096);
		expect(reply.Ok.rows[0].values[4095]).toEqual({ kind: 'int', value: 4095n });
		await expect(made([...schema, { name: 'more', type: 'int' }], [])).rejects.toThrow('schema_size');
	});

	it('depth 16, and not 17', async () => {
		const nested = (levels: number): FieldTypeInput =>
			levels === 1 ? 'int' : { kind: 'list', element: nested(levels - 1) };
		const value = (levels: number): ValueInput => (levels === 1 ? 1 : [value(levels - 1)]);
		let [found] = await column(nested(16), [value(16)]);
		for (let i = 0; i < 14; i++) found = found[0].value;
		expect(found).toEqual([{ kind: 'int', value: 1n }]);
		await expect(made([{ name: 'v', type: nested(17) }], [])).rejects.toThrow('depth_exceeded');
	});

	it('names that differ in case only are two fields', async () => {
		const index = await made(
			[
				{ name: 'a', type: 'int' },
				{ name: 'A', type: 'string' },
			],
			[[1, 'x']],
		);
		expect(await client.rows(index)).toEqual([[1n, 'x']]);
	});

	it('provenance columns keep their ids, and those of the store can be asked for', async () => {
		const index = await made(
			[
				{ name: '__laser_stream_id', type: 'long' },
				{ name: 'v', type: 'int' },
			],
			[
				[9n, 1],
				[9n, 2],
			],
		);
		const reply = await client.query(index, {
			select: { fields: ['__laser_stream_id', '__laser_offset', 'v'], payload: true },
		});
		expect(reply.Ok.fields.map((f: Answer) => f.id)).toEqual([2000000003n, 2000000006n, 1n, 2000000012n]);
		expect(plainRows(reply)).toEqual([
			[9n, 0n, 1n, null],
			[9n, 1n, 2n, null],
		]);
	});

	it('refuses what no rule allows, naming it', async () => {
		const refused: [FieldInput[], RowInput[], string][] = [
			[[], [], 'schema_empty'],
			[[{ name: ' x', type: 'int' }], [], 'field_name'],
			[
				[
					{ name: 'x', type: 'int' },
					{ name: 'x', type: 'int' },
				],
				[],
				'field_name_duplicate',
			],
			[
				[
					{ name: 'x', type: 'int', id: 1 },
					{ name: 'y', type: 'int', id: 1 },
				],
				[],
				'field_id_duplicate',
			],
			[[{ name: '__laser_offset', type: 'long', id: 5 }], [], 'field_name_reserved'],
			[[{ name: 'x', type: { kind: 'decimal', precision: 39, scale: 0 } }], [], 'decimal_precision'],
			[[{ name: 'x', type: { kind: 'map', key: 'double', value: 'int' } }], [], 'map_key_kind'],
			[[{ name: 'x', type: 'int', required: true }], [[null]], 'required_null'],
			[[{ name: 'x', type: 'int' }], [[2147483648n]], 'integer_range'],
			[[{ name: 'x', type: 'int' }], [['1']], 'type_mismatch'],
			[[{ name: 'x', type: 'double' }], [[Number.NaN]], 'float_not_finite'],
			[[{ name: 'x', type: 'float' }], [[-0]], 'float_negative_zero'],
			[[{ name: 'x', type: 'time_micros' }], [[86_400_000_000n]], 'time_out_of_range'],
			[[{ name: 'x', type: { kind: 'decimal', precision: 3, scale: 1 } }], [['100.0']], 'decimal_digits'],
			[[{ name: 'x', type: 'string' }], [['\ud800']], 'invalid_utf8'],
		];
		for (const [schema, rows, rule] of refused) await expect(made(schema, rows), rule).rejects.toThrow(rule);
	});
});

describe('rows appended later', () => {
	it('are seen at once, and tell the feed by offsets', async () => {
		const index = await made([{ name: 'v', type: 'int' }], [[1], [2]], { notify: true });
		expect(await client.plane.appendRows(index, [{ v: 3 }])).toEqual({
			fromOffset: 2n,
			toOffset: 2n,
			rows: 1,
		});
		const reply = await client.query(index, { consistency: 'read_your_writes' });
		expect(plainRows(reply)).toEqual([[1n], [2n], [3n]]);
		expect(reply.Ok.context.frontier).toMatchObject([{ partition_id: 0n, applied_offset: 2n }]);
		const changes = (await client.changes()).filter((change) => change.index === index);
		expect(changes.map((c) => [c.from_offset, c.to_offset, c.rows])).toEqual([
			[0n, 1n, 2n],
			[2n, 2n, 1n],
		]);
	});

	it('a batch with one bad row leaves nothing', async () => {
		const index = await made([{ name: 'v', type: 'int' }], [[1]], { notify: true });
		await expect(client.plane.appendRows(index, [[2], ['x']])).rejects.toThrow('type_mismatch at rows[1].v');
		expect(await client.rows(index)).toEqual([[1n]]);
		await expect(client.plane.createIndex(index, [{ name: 'v', type: 'int' }])).rejects.toThrow('already');
		await expect(client.plane.appendRows('nothing', [[1]])).rejects.toThrow('no created index');
	});

	it('a projection cannot be bound to it', async () => {
		const index = await made([{ name: 'v', type: 'int' }], []);
		await client.log.ensureTopic('s', 't', 1);
		await client.registerProjection('p', [{ name: 'v', pointer: '/v' }]);
		const reply = await client.applyBinding({
			source: { stream: 's', topic: 't' },
			default_projection: 'p',
			index,
		});
		expect(reply.code).toBe('invalid_argument');
	});
});

describe('predicates and order over every kind', () => {
	const SCHEMA: FieldInput[] = [
		{ name: 'id', type: 'int' },
		{ name: 'f', type: 'float' },
		{ name: 'd', type: { kind: 'decimal', precision: 10, scale: 2 } },
		{ name: 'day', type: 'date' },
		{ name: 'ts', type: 'timestamp_micros' },
		{ name: 'u', type: 'uuid' },
		{ name: 'b', type: 'binary' },
		{ name: 'l', type: { kind: 'list', element: 'int' } },
		{ name: 'm', type: { kind: 'map', key: 'string', value: 'int' } },
	];
	const rows: RowInput[] = [
		[1, 0.5, '-1.50', -1, -5n, new Uint8Array(16), bytes(1), [1, null], { a: 1 }],
		[2, 0.1, '0.10', 0, 0n, new Uint8Array(16).fill(9), bytes(1, 0), [1], { b: 1, a: 2 }],
		[3, 2, '99999999.99', 1, 10n, new Uint8Array(16).fill(200), bytes(255), [], {}],
		[4, null, null, null, null, null, null, null, null],
	].map(
		(row) =>
			row.map((cell, i) =>
				i === 8 && cell !== null ? new Map(Object.entries(cell as object)) : cell,
			) as RowInput,
	);
	let index: string;
	beforeAll(async () => {
		index = await made(SCHEMA, rows);
	});

	const decimal = (unscaled: Uint8Array, scale: bigint) => ({
		kind: 'decimal',
		value: { unscaled, precision: 38n, scale },
	});
	const int = (value: bigint) => ({ kind: 'int', value });
	const cases: [string, unknown, bigint[]][] = [
		['int with a long', pred('id', 'lt', { kind: 'long', value: 2n ** 40n }), [1n, 2n, 3n, 4n]],
		['float by exact value: 0.1 in 32 bits is not 0.1', pred('f', 'eq', { kind: 'double', value: 0.1 }), []],
		['float by exact value', pred('f', 'eq', { kind: 'double', value: Math.fround(0.1) }), [2n]],
		['float with a float', pred('f', 'lte', { kind: 'float', value: 0.5 }), [1n, 2n]],
		['decimal of another scale', pred('d', 'eq', decimal(bytes(100), 3n)), [2n]],
		['decimal between two steps', pred('d', 'eq', decimal(bytes(101), 3n)), []],
		['decimal below a finer bound', pred('d', 'lt', decimal(bytes(101), 3n)), [1n, 2n]],
		[
			'decimal below a finer negative bound',
			pred('d', 'lte', decimal(Uint8Array.from([0xfa, 0x23]), 3n)),
			[],
		],
		[
			'decimal above a finer negative bound',
			pred('d', 'gt', decimal(Uint8Array.from([0xfa, 0x23]), 3n)),
			[1n, 2n, 3n],
		],
		[
			'decimal above what 38 digits hold at its scale',
			pred('d', 'lt', decimal(Uint8Array.from(Buffer.from((10n ** 38n - 1n).toString(16), 'hex')), 0n)),
			[1n, 2n, 3n],
		],
		['date', pred('day', 'gte', { kind: 'date', value: 0n }), [2n, 3n]],
		['timestamp', pred('ts', 'lt', { kind: 'timestamp_micros', value: 0n }), [1n]],
		['uuid', pred('u', 'gt', { kind: 'uuid', value: new Uint8Array(16).fill(8) }), [2n, 3n]],
		['binary, shorter is less', pred('b', 'lte', { kind: 'binary', value: bytes(1, 0) }), [1n, 2n]],
		['list', pred('l', 'eq', { kind: 'list', value: [int(1n), { kind: 'null' }] }), [1n]],
		[
			'list in lists',
			pred('l', 'in', {
				kind: 'list',
				value: [
					{ kind: 'list', value: [] },
					{ kind: 'list', value: [int(1n)] },
				],
			}),
			[2n, 3n],
		],
		[
			'map',
			pred('m', 'eq', {
				kind: 'map',
				value: [
					{ key: { kind: 'string', value: 'a' }, value: int(2n) },
					{ key: { kind: 'string', value: 'b' }, value: int(1n) },
				],
			}),
			[2n],
		],
		['null container', pred('m', 'eq', { kind: 'null' }), [4n]],
		[
			'in of 4,000',
			pred('id', 'in', { kind: 'list', value: Array.from({ length: 4000 }, (_, i) => int(BigInt(i + 2))) }),
			[2n, 3n, 4n],
		],
	];
	for (const [name, filter, expected] of cases) {
		it(name, async () => {
			const found = await client.rows(index, { filter, select: { fields: ['id'], payload: false } });
			expect(found.map(([id]) => id)).toEqual(expected);
		});
	}

	it('a time range goes by the timestamp field', async () => {
		const found = await client.rows(index, {
			time_range: [0n, 10n],
			select: { fields: ['id'], payload: false },
		});
		expect(found).toEqual([[2n], [3n]]);
	});

	it('other mismatches of kinds are refused', async () => {
		const wrong: [string, string, unknown][] = [
			['ts', 'eq', { kind: 'timestamp_tz_micros', value: 0n }],
			['d', 'eq', { kind: 'long', value: 1n }],
			['b', 'eq', { kind: 'fixed', value: bytes(1) }],
			['l', 'lt', { kind: 'list', value: [] }],
			['l', 'eq', { kind: 'list', value: [{ kind: 'long', value: 1n }] }],
			['day', 'eq', { kind: 'int', value: 1n }],
		];
		for (const [field, op, value] of wrong) {
			const reply = await client.query(index, { filter: pred(field, op, value) });
			expect(reply.message, `${field} ${op}`).toContain('type_mismatch');
		}
		expect((await client.query(index, { order: [{ field: 'l', dir: 'asc' }] })).message).toContain(
			'query_name',
		);
	});

	for (const field of ['f', 'd', 'day', 'ts', 'u', 'b']) {
		for (const dir of ['asc', 'desc']) {
			it(`pages ordered by ${field} ${dir} are whole, nulls last`, async () => {
				const query = queryOn(index, {
					order: [{ field, dir }],
					page: { limit: 1n },
					select: { fields: ['id'], payload: false },
				});
				const seen: unknown[] = [];
				let reply = await client.send(1_000_200, { v: 1n, query });
				for (;;) {
					seen.push(...plainRows(reply).map(([id]) => id));
					const cursor = reply.Ok.page.next_cursor;
					if (cursor === undefined) break;
					const { execution_id, deadline_micros } = query;
					reply = await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros });
				}
				const up = field === 'f' ? [2n, 1n, 3n] : [1n, 2n, 3n];
				expect(seen).toEqual([...(dir === 'asc' ? up : up.reverse()), 4n]);
			});
		}
	}

	it('aggregates of every number kind, and of times', async () => {
		const call = (func: string, field: string, arg?: number) => ({
			func,
			field,
			arg,
			alias: `${func}_${field}`,
		});
		const funcs = [
			call('sum', 'id'),
			call('sum', 'd'),
			call('avg', 'd'),
			call('sum', 'f'),
			call('std_dev', 'id'),
			call('percentile', 'id', 0.5),
			call('percentile', 'd', 1),
			call('count_distinct', 'l'),
			call('min', 'ts'),
			call('max', 'u'),
			call('max', 'day'),
			call('min', 'b'),
		];
		const reply = await client.query(index, { aggregate: { funcs } });
		expect(reply.Ok, text(reply)).toBeDefined();
		expect(reply.Ok.fields.map((f: Answer) => f.field_type.kind)).toEqual([
			'long',
			'decimal',
			'double',
			'double',
			'double',
			'double',
			'double',
			'long',
			'timestamp_micros',
			'uuid',
			'date',
			'binary',
		]);
		const [row] = plainRows(reply) as [Answer[]];
		expect(row[0]).toBe(10n);
		expect(row[1]).toEqual({
			unscaled: Uint8Array.from(Buffer.from(9999999859n.toString(16).padStart(10, '0'), 'hex')),
			precision: 38n,
			scale: 2n,
		});
		expect(row[3]).toBeCloseTo(2.5 + Math.fround(0.1), 12);
		expect(row[4]).toBeCloseTo(1.2909944487358056, 12);
		expect(row[5]).toBe(2.5);
		expect(row[6]).toBeCloseTo(99999999.99, 6);
		expect(row.slice(7)).toEqual([3n, -5n, new Uint8Array(16).fill(200), 1n, bytes(1)]);
	});

	it('windows over timestamps', async () => {
		const aggregate = { funcs: [{ func: 'count', alias: 'n' }], window: { field: 'ts', every_micros: 10n } };
		expect(await client.rows(index, { aggregate, order: [{ field: 'window_start', dir: 'asc' }] })).toEqual([
			[-10n, 1n],
			[0n, 1n],
			[10n, 1n],
			[null, 1n],
		]);
	});

	it('distinct pages go by value, containers too, and stay stable while rows arrive', async () => {
		const growing = await made(SCHEMA, [...rows, ...rows]);
		const select = { fields: ['l', 'm'], payload: false };
		const query = queryOn(growing, { distinct: true, page: { limit: 1n, want_total: true }, select });
		const seen: unknown[][] = [];
		let reply = await client.send(1_000_200, { v: 1n, query });
		for (;;) {
			expect(reply.Ok, text(reply)).toBeDefined();
			expect(reply.Ok.page.total).toBe(4n);
			seen.push(...plainRows(reply));
			const cursor = reply.Ok.page.next_cursor;
			if (cursor === undefined) break;
			await client.plane.appendRows(growing, [[9, 1, '1', 1, 1n, null, null, [0, seen.length], new Map()]]);
			const { execution_id, deadline_micros } = query;
			reply = await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros });
		}
		expect(seen.length).toBe(4);
		expect(new Set(seen.map(text)).size).toBe(4);
	});
});
