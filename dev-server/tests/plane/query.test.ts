import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPlane } from '../../src/plane/index.js';
import { type Answer, OPTIONS, plainRows, queryOn, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

const FIELDS = [
	{ name: 'id', pointer: '/id', field_type: 'int' },
	{ name: 'status', pointer: '/status', field_type: 'text' },
	{ name: 'total', pointer: '/total', field_type: 'float' },
	{ name: 'rush', pointer: '/rush', field_type: 'bool' },
];
const BIG = 2n ** 53n + 1n;

let client: TestClient;

async function open(): Promise<void> {
	const log = new MemoryLog();
	await log.ensureTopic('shop', 'orders', 1);
	client = new TestClient(await createPlane(log, OPTIONS), log);
	await client.registerProjection('p', FIELDS);
	await client.applyBinding({
		source: { stream: 'shop', topic: 'orders' },
		default_projection: 'p',
		index: 'orders',
	});
	await publish([
		'{"id":1,"status":"paid","total":20,"rush":true}',
		'{"id":2,"status":"open","total":12.5,"rush":false}',
		`{"id":${BIG},"status":"paid","total":7.25}`,
		'{"id":4,"total":100.0}',
		'{"id":5,"status":"refunded"}',
	]);
}

const close = () => client.plane.close();

async function publish(values: unknown[]): Promise<void> {
	await client.publish('shop', 'orders', 0, values);
	await client.plane.settle();
}

const pred = (field: string, op: string, value: unknown) => ({ pred: { field, op, value } });
const long = (value: bigint) => ({ kind: 'long', value });
const double = (value: number) => ({ kind: 'double', value });
const string = (value: string) => ({ kind: 'string', value });

async function ids(query: Record<string, unknown>): Promise<bigint[]> {
	const found = await client.rows('orders', { select: { fields: ['id'], payload: false }, ...query });
	return found.map(([id]) => id as bigint);
}

async function refused(query: Record<string, unknown>, rule: string): Promise<void> {
	const reply = await client.query('orders', query);
	expect(reply.code, text(reply)).toBe('invalid_argument');
	expect(reply.message).toContain(rule);
}

describe('filters', () => {
	beforeAll(open);
	afterAll(close);

	const cases: [string, unknown, bigint[]][] = [
		['eq', pred('status', 'eq', string('paid')), [1n, BIG]],
		['ne leaves nulls out', pred('status', 'ne', string('paid')), [2n, 5n]],
		['lt', pred('total', 'lt', double(12.5)), [BIG]],
		['lte', pred('total', 'lte', double(12.5)), [2n, BIG]],
		['gt', pred('total', 'gt', double(20)), [4n]],
		['gte with a long on a double', pred('total', 'gte', long(20n)), [1n, 4n]],
		['in', pred('id', 'in', { kind: 'list', value: [long(1n), long(4n), long(99n)] }), [1n, 4n]],
		['contains', pred('status', 'contains', string('un')), [5n]],
		['contains takes a percent sign as it is', pred('status', 'contains', string('%')), []],
		['prefix', pred('status', 'prefix', string('p')), [1n, BIG]],
		['boolean', pred('rush', 'eq', { kind: 'boolean', value: false }), [2n]],
		['null', pred('status', 'eq', { kind: 'null' }), [4n]],
		['not null', pred('total', 'ne', { kind: 'null' }), [1n, 2n, BIG, 4n]],
		['exact above 2^53', pred('id', 'eq', long(BIG)), [BIG]],
		['a double never equals the odd integer beside it', pred('id', 'eq', double(2 ** 53)), []],
		['a long above a fraction', pred('id', 'gt', double(3.5)), [BIG, 4n, 5n]],
		['a long below a fraction', pred('id', 'lt', double(1.5)), [1n]],
		['a bound beyond 64 bits', pred('id', 'lt', double(1e30)), [1n, 2n, BIG, 4n, 5n]],
		['a double below an inexact long', pred('total', 'lt', long(BIG)), [1n, 2n, BIG, 4n]],
		['not', { not: pred('status', 'eq', string('paid')) }, [2n, 5n]],
		['any', { any: [pred('id', 'eq', long(1n)), pred('id', 'eq', long(5n))] }, [1n, 5n]],
		['all', { all: [pred('status', 'eq', string('paid')), pred('total', 'lt', long(10n))] }, [BIG]],
		['quotes in values are values', pred('status', 'eq', string(`paid' OR 1=1 --`)), []],
	];
	for (const [name, filter, expected] of cases) {
		it(name, async () => expect(await ids({ filter })).toEqual(expected));
	}

	it('by_key entries must all hold', async () => {
		const by_key = [
			{ field: 'status', value: string('paid') },
			{ field: 'id', value: long(1n) },
		];
		expect(await ids({ by_key })).toEqual([1n]);
	});

	it('time_range without a ts field is the append time', async () => {
		const now = BigInt(Date.now()) * 1000n;
		expect((await ids({ time_range: [now - 60_000_000n, now + 60_000_000n] })).length).toBe(5);
		expect(await ids({ time_range: [1n, 2n] })).toEqual([]);
	});

	it('refuses another kind, a field that is not there, and broken shapes', async () => {
		await refused({ filter: pred('status', 'eq', long(1n)) }, 'type_mismatch');
		await refused({ filter: pred('id', 'eq', string('1')) }, 'type_mismatch');
		await refused({ filter: pred('nope"; DROP TABLE ix_1; --', 'eq', long(1n)) }, 'query_name');
		await refused({ filter: { all: [] } }, 'filter_empty');
		await refused({ filter: pred('id', 'in', { kind: 'list', value: [] }) }, 'filter_in');
		await refused({ filter: pred('status', 'prefix', long(1n)) }, 'filter_prefix');
		await refused({ select: { fields: ['nope'], payload: false } }, 'query_name');
		await refused({ order: [{ field: 'nope', dir: 'asc' }] }, 'query_name');
	});
});

describe('shape of the answer', () => {
	beforeAll(open);
	afterAll(close);

	it('types are those of the projection and nulls are nulls', async () => {
		const reply = await client.query('orders', { order: [{ field: 'total', dir: 'desc' }] });
		expect(reply.Ok.fields).toEqual([
			{ id: 1n, name: 'id', required: false, field_type: { kind: 'long' } },
			{ id: 2n, name: 'status', required: false, field_type: { kind: 'string' } },
			{ id: 3n, name: 'total', required: false, field_type: { kind: 'double' } },
			{ id: 4n, name: 'rush', required: false, field_type: { kind: 'boolean' } },
		]);
		expect(plainRows(reply)).toEqual([
			[4n, null, 100, null],
			[1n, 'paid', 20, true],
			[2n, 'open', 12.5, false],
			[BIG, 'paid', 7.25, null],
			[5n, 'refunded', null, null],
		]);
		expect(reply.Ok.rows[0].values[1]).toEqual({ kind: 'null' });
	});

	it('distinct, total and offset', async () => {
		const select = { fields: ['status'], payload: false };
		const order = [{ field: 'status', dir: 'asc' }];
		expect(await client.rows('orders', { select, order, distinct: true })).toEqual([
			['open'],
			['paid'],
			['refunded'],
			[null],
		]);
		const reply = await client.query('orders', { page: { limit: 2n, offset: 1n, want_total: true } });
		expect(reply.Ok.page).toMatchObject({ offset: 1n, limit: 2n, total: 5n, has_more: true });
	});

	it('the payload comes when it was inlined and asked for', async () => {
		await client.registerProjection('q', FIELDS, true);
		await client.log.ensureTopic('shop', 'inlined', 1);
		const source = { stream: 'shop', topic: 'inlined' };
		await client.applyBinding({ source, default_projection: 'q', index: 'inlined' });
		await client.publish('shop', 'inlined', 0, ['{"id":1}']);
		await client.plane.settle();
		const reply = await client.query('inlined', { select: { fields: ['id'], payload: true } });
		expect(reply.Ok.fields[1]).toEqual({
			id: 2000000012n,
			name: '__laser_original_payload',
			required: false,
			field_type: { kind: 'binary' },
		});
		expect(new TextDecoder().decode(reply.Ok.rows[0].values[1].value)).toBe('{"id":1}');
		const without = await client.query('orders', {
			select: { fields: ['id'], payload: true },
			page: { limit: 1n },
		});
		expect(without.Ok.rows[0].values[1]).toEqual({ kind: 'null' });
	});

	it('provenance can be selected by name', async () => {
		const fields = ['__laser_partition_id', '__laser_offset', 'id'];
		expect((await client.rows('orders', { select: { fields, payload: false } }))[3]).toEqual([0n, 3n, 4n]);
	});
});

describe('aggregates', () => {
	beforeAll(open);
	afterAll(close);

	const aggregate = (funcs: unknown[], extra: object = {}) => ({ aggregate: { funcs, ...extra } });
	const call = (func: string, field?: string) => ({
		func,
		field,
		alias: field === undefined ? func : `${func}_${field}`,
	});

	it('count, sum, avg, min and max', async () => {
		const reply = await client.query(
			'orders',
			aggregate([
				call('count'),
				call('count', 'total'),
				call('sum', 'total'),
				call('avg', 'total'),
				call('min', 'id'),
				call('max', 'id'),
			]),
		);
		expect(plainRows(reply)).toEqual([[5n, 4n, 139.75, 34.9375, 1n, BIG]]);
		expect(reply.Ok.fields.map((f: Answer) => f.field_type.kind)).toEqual([
			'long',
			'long',
			'double',
			'double',
			'long',
			'long',
		]);
		expect(reply.Ok.page.has_more).toBe(false);
	});

	it('sums of longs are exact', async () => {
		expect(await client.rows('orders', aggregate([call('sum', 'id')]))).toEqual([[BIG + 12n]]);
	});

	it('groups, having, order and limit', async () => {
		const reply = await client.query('orders', {
			...aggregate([call('count')], { group_by: ['status'] }),
			having: pred('count', 'gte', long(1n)),
			order: [{ field: 'count', dir: 'desc' }],
			page: { limit: 2n, want_total: true },
		});
		expect(plainRows(reply)).toEqual([
			['paid', 2n],
			['open', 1n],
		]);
		expect(reply.Ok.page).toMatchObject({ total: 4n, has_more: false });
		expect(reply.Ok.context.truncated).toBe(true);
	});

	it('windows start on whole multiples, also before 1970', async () => {
		await client.registerProjection('t', [{ name: 'ts', pointer: '/ts' }]);
		await client.log.ensureTopic('shop', 'ticks', 1);
		await client.applyBinding({
			source: { stream: 'shop', topic: 'ticks' },
			default_projection: 't',
			index: 'ticks',
		});
		await client.publish('shop', 'ticks', 0, ['{"ts":-1}', '{"ts":0}', '{"ts":9}', '{"ts":10}']);
		await client.plane.settle();
		const query = aggregate([call('count')], { window: { field: 'ts', every_micros: 10n } });
		expect(await client.rows('ticks', { ...query, order: [{ field: 'window_start', dir: 'asc' }] })).toEqual([
			[-10n, 1n],
			[0n, 2n],
			[10n, 1n],
		]);
	});

	it('an empty group of rows sums to null', async () => {
		const filter = pred('id', 'eq', long(77n));
		expect(
			await client.rows('orders', { ...aggregate([call('count'), call('sum', 'total')]), filter }),
		).toEqual([[0n, null]]);
	});

	it('refuses numbers from text', async () => {
		await refused(aggregate([call('sum', 'status')]), 'aggregate');
		await refused(aggregate([call('sum')]), 'aggregate');
	});
});

describe('pages', () => {
	afterEach(close);
	beforeEach(async () => {
		await open();
		await publish(Array.from({ length: 95 }, (_, i) => ({ id: 1000 + i, total: i % 7 })));
	});

	async function walk(
		first: Record<string, unknown>,
		between: () => Promise<void>,
		viaPage: boolean,
	): Promise<unknown[]> {
		const query = queryOn('orders', { page: { limit: 10n, offset: 0n }, ...first });
		const seen: unknown[] = [];
		let reply = await client.send(1_000_200, { v: 1n, query });
		for (;;) {
			expect(reply.Ok, text(reply)).toBeDefined();
			expect(reply.Ok.context.execution_id).toEqual(query.execution_id);
			seen.push(...plainRows(reply).map(([id]) => id));
			const cursor = reply.Ok.page.next_cursor;
			expect(reply.Ok.page.has_more).toBe(cursor !== undefined);
			if (cursor === undefined) return seen;
			await between();
			const { execution_id, deadline_micros } = query;
			reply = viaPage
				? await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros })
				: await client.send(1_000_200, { v: 1n, query: { ...query, page: { limit: 10n, cursor } } });
		}
	}

	for (const viaPage of [true, false]) {
		it(`a walk is stable while rows arrive (${viaPage ? 'page command' : 'query with cursor'})`, async () => {
			let extra = 5000;
			const seen = await walk(
				{ order: [{ field: 'total', dir: 'desc' }] },
				() => publish([{ id: ++extra, total: 6 }, { id: ++extra }]),
				viaPage,
			);
			expect(seen.length).toBe(100);
			expect(new Set(seen).size).toBe(100);
			expect(seen.every((id) => (id as bigint) < 5000n || id === BIG)).toBe(true);
		});
	}

	it('a walk misses no row when retention takes earlier ones away', async () => {
		const retention = { kind: 'mirror_log' };
		const source = { stream: 'shop', topic: 'orders' };
		await client.applyBinding({ source, default_projection: 'p', index: 'orders', retention });
		let start = 0n;
		const order = [
			{ field: 'total', dir: 'desc' },
			{ field: 'status', dir: 'asc' },
		];
		const seen = await walk(
			{ order },
			async () => {
				start += 3n;
				client.log.trim('shop', 'orders', 0, start);
				await publish(['{"other":1}']);
			},
			true,
		);
		expect(new Set(seen).size).toBe(seen.length);
		// Every row that was never trimmed is there.
		const kept = Array.from({ length: 95 }, (_, i) => BigInt(1000 + i)).slice(Number(start) - 5);
		for (const id of kept) expect(seen).toContain(id);
	});

	it('a walk goes on when an untyped ordered field widens from long to double', async () => {
		await client.registerProjection('u', [{ name: 'n', pointer: '/n' }]);
		await client.log.ensureTopic('shop', 'untyped', 1);
		await client.applyBinding({
			source: { stream: 'shop', topic: 'untyped' },
			default_projection: 'u',
			index: 'untyped',
		});
		await client.publish(
			'shop',
			'untyped',
			0,
			Array.from({ length: 30 }, (_, n) => ({ n })),
		);
		await client.plane.settle();
		const seen = await walk(
			{ target: { kind: 'operational', index: 'untyped' }, order: [{ field: 'n', dir: 'asc' }] },
			async () => {
				await client.publish('shop', 'untyped', 0, ['{"n":0.5}']);
				await client.plane.settle();
			},
			true,
		);
		expect(seen.map(Number)).toEqual(Array.from({ length: 30 }, (_, n) => n));
	});

	it('a repeated cursor gives the same page', async () => {
		const query = queryOn('orders', { page: { limit: 10n, offset: 0n } });
		const first = await client.send(1_000_200, { v: 1n, query });
		const request = {
			v: 1n,
			execution_id: query.execution_id,
			cursor: first.Ok.page.next_cursor,
			deadline_micros: query.deadline_micros,
		};
		const one = await client.send(1_000_201, request);
		const two = await client.send(1_000_201, request);
		expect(plainRows(two)).toEqual(plainRows(one));
	});

	it('a foreign cursor is refused', async () => {
		await refused({ page: { limit: 10n, cursor: 'nonsense' } }, 'page_cursor');
	});
});

describe('execution', () => {
	beforeEach(open);
	afterEach(close);

	it('a deadline that has passed is answered as such', async () => {
		const query = queryOn('orders', { deadline_micros: 1n });
		const reply = await client.send(1_000_200, { v: 1n, query });
		expect(reply).toEqual({ Err: { DeadlineExceeded: { execution_id: query.execution_id } } });
		const status = await client.send(1_000_203, { v: 1n, execution_id: query.execution_id });
		expect(status.Ok.state).toBe('expired');
	});

	it('status of a finished query, cancel of it changes nothing, an unknown one is not found', async () => {
		const query = queryOn('orders');
		await client.send(1_000_200, { v: 1n, query });
		const request = { v: 1n, execution_id: query.execution_id };
		const status = await client.send(1_000_203, request);
		expect(status.Ok).toMatchObject({ state: 'completed', row_count: 5n });
		expect(status.Ok.finished_at_micros >= status.Ok.started_at_micros).toBe(true);
		expect((await client.send(1_000_202, request)).Ok.state).toBe('completed');
		const unknown = await client.send(1_000_203, { v: 1n, execution_id: new Uint8Array(16).fill(7) });
		expect(unknown.code).toBe('not_found');
	});

	it('a cancel stops a running query', async () => {
		// A wait for a projection that is never registered keeps it running.
		await client.log.ensureTopic('shop', 'held', 1);
		await client.publish('shop', 'held', 0, ['{"id":1}']);
		await client.applyBinding({
			source: { stream: 'shop', topic: 'held' },
			default_projection: 'later',
			index: 'held',
		});
		const query = queryOn('held', { consistency: 'read_your_writes' });
		const running = client.send(1_000_200, { v: 1n, query });
		await new Promise((resolve) => setTimeout(resolve, 50));
		const request = { v: 1n, execution_id: query.execution_id };
		expect((await client.send(1_000_202, request)).Ok.state).toBe('cancelled');
		expect(await running).toEqual({ Err: { Cancelled: { execution_id: query.execution_id } } });
		expect((await client.send(1_000_203, request)).Ok.state).toBe('cancelled');
	});

	it('read your writes behind a held projection is stale, and within its deadline', async () => {
		await client.log.ensureTopic('shop', 'held', 1);
		await client.publish('shop', 'held', 0, ['{"id":1}', '{"id":2}']);
		await client.applyBinding({
			source: { stream: 'shop', topic: 'held' },
			default_projection: 'later',
			index: 'held',
		});
		const deadline_micros = BigInt(Date.now() + 20_000) * 1000n;
		const reply = await client.query('held', { consistency: 'read_your_writes', deadline_micros });
		expect(reply).toEqual({ Err: { Stale: { what: 'held', applied: 0n, required: 1n } } });
		const soon = queryOn('held', {
			consistency: 'read_your_writes',
			deadline_micros: BigInt(Date.now() + 100) * 1000n,
		});
		const late = await client.send(1_000_200, { v: 1n, query: soon });
		expect(late).toEqual({ Err: { DeadlineExceeded: { execution_id: soon.execution_id } } });
	});

	it('what is not served is refused by name', async () => {
		expect(await client.query('orders', { consistency: 'strong' })).toEqual({
			Err: { Unsupported: 'consistency strong' },
		});
		expect(await client.query('orders', { fork: 'f' })).toEqual({ Err: { Unsupported: 'forks' } });
		const raw_sql = { dialect: 'my_sql', sql: 'SELECT 1' };
		expect(await client.query('orders', { raw_sql })).toEqual({ Err: { Unsupported: 'dialect my_sql' } });
		expect(await client.send(1_000_200, { v: 2n, query: queryOn('orders') })).toEqual({
			Err: { Version: { expected: 1n, got: 2n } },
		});
	});
});
