import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../../dev-server/src/index.js';
import {
	CancelledError,
	filterAny,
	filterPred,
	InvalidError,
	Laser,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	QueryError,
	queryResultFieldIndex,
	queryResultValue,
	queryResultValueI64,
	queryResultValueText,
	queryResultValueU64,
	typedValueDiagnosticText,
	UnsupportedError,
} from '../../../js/index.js';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const ORDERS = 30;

let server: DevServer;
let laser: Laser;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0', readyAfterMs: 50 });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', { username: 'iggy', password: 'iggy' });
	await laser.waitUntilReady(30_000);
	await laser.topic('orders').ensure(1);
	const projection = new ProjectionBuilder('orders_v1.v1')
		.contentType('json')
		.fields(['id', 'status', 'total']);
	await laser.projections().register(projection.build());
	const binding = new ProjectionBindingBuilder().source('shop', 'orders').allow('orders_v1.v1');
	await laser.bindings().apply(binding.defaultProjection('orders_v1.v1').index('orders_v1').notify().build());
	for (let i = 0; i < ORDERS; i++)
		await laser
			.topic('orders')
			.publish()
			.json({ id: i, status: i % 3 === 0 ? 'paid' : 'öffen', total: i + 0.5 })
			.send();
	let last: unknown;
	for (let i = 0; i < 200; i++) {
		try {
			const { page } = await laser.query('orders_v1').limit(1).withTotal().fetch();
			if (page.total === ORDERS) return;
			last = page;
		} catch (error) {
			// The index is not there yet; anything else is a failure.
			if (!(error instanceof QueryError)) throw error;
			last = error;
		}
		await sleep(50);
	}
	throw new Error('the rows did not arrive', { cause: last });
}, 60_000);

afterAll(async () => {
	await laser?.close();
	await server?.close();
});

describe('queries, over the wire', () => {
	it('gives rows as typed values in the order of the fields', async () => {
		const result = await laser.query('orders_v1').filterEq('id', 4).fetch();
		expect(result.rows.length).toBe(1);
		expect(queryResultFieldIndex(result, 'status')).toBeDefined();
		expect(queryResultValueText(result, 0, 'status')).toBe('öffen');
		expect(queryResultValueI64(result, 0, 'id')).toBe(4n);
		expect(queryResultValueU64(result, 0, 'id')).toBe(4n);
		expect(typedValueDiagnosticText(queryResultValue(result, 0, 'total')!)).toBe('4.5');
		expect(queryResultValue(result, 0, 'none')).toBeUndefined();
		expect(result.context.rowCount).toBe(1);
	});

	it('orders, limits and makes plain objects', async () => {
		const result = await laser.query('orders_v1').filterEq('status', 'paid').orderDesc('id').limit(3).fetch();
		const objects = result.objects<{ id: bigint; status: string; total: number }>();
		expect(objects.map(({ id }) => id)).toEqual([27n, 24n, 21n]);
		expect(objects[0]).toMatchObject({ status: 'paid', total: 27.5 });
		expect(result.page.limit).toBe(3);
		expect(result.page.hasMore).toBe(true);
	});

	it('combines filters', async () => {
		const either = filterAny(filterPred('id', 'lt', 2), filterPred('id', 'gte', 28));
		const result = await laser.query('orders_v1').filter(either).orderAsc('id').fetch();
		expect(result.objects().map(({ id }) => id)).toEqual([0n, 1n, 28n, 29n]);
		const inside = await laser.query('orders_v1').filterIn('id', [1, 2, 3]).filterNe('id', 2).fetch();
		expect(inside.rowCount).toBe(2);
	});

	it('walks all pages', async () => {
		const rows = await laser.query('orders_v1').orderAsc('id').limit(7).fetchAll();
		expect(rows.map(({ values }) => values.find(({ kind }) => kind === 'long'))).toEqual(
			Array.from({ length: ORDERS }, (_, i) => ({ kind: 'long', value: BigInt(i) })),
		);
		expect((await laser.query('orders_v1').orderAsc('id').maxRows(10).rows()).length).toBe(10);
		await expect(laser.query('orders_v1').rows()).rejects.toThrow(InvalidError);
	});

	it('reads its own writes', async () => {
		await laser.topic('orders').publish().json({ id: 1000, status: 'new', total: 1 }).send();
		const result = await laser.query('orders_v1').filterEq('id', 1000).readYourWrites().fetch();
		expect(result.rowCount).toBe(1);
	});

	it('refuses locally what breaks a rule, and names the rule and the field', async () => {
		const rules: [Promise<unknown>, string][] = [
			[laser.query('orders_v1').limit(0).fetch(), 'page_limit'],
			[laser.query('orders_v1').limit(1001).fetch(), 'page_limit'],
			[laser.query('').fetch(), 'query_name'],
			[laser.query('orders_v1').filterIn('id', []).fetch(), 'filter_in'],
			[laser.query('orders_v1').filterEq('id', Number.NaN).fetch(), 'float_not_finite'],
			[laser.query('orders_v1').offset(0).cursor('c').fetch(), 'page_selector'],
			[laser.query('orders_v1').deadline(26_000).fetch(), 'deadline'],
		];
		for (const [refused, rule] of rules)
			await expect(refused).rejects.toMatchObject({ name: 'InvalidError', rule });
	});

	it('refuses a count of rows that is none', () => {
		for (const rows of [-1, 1.5, Number.NaN, '5' as never]) {
			expect(() => laser.query('orders_v1').limit(rows)).toThrow(InvalidError);
			expect(() => laser.query('orders_v1').offset(rows)).toThrow(InvalidError);
		}
	});

	it('tells a missing index apart', async () => {
		await expect(laser.query('no_such_index').fetch()).rejects.toThrow(QueryError);
	});

	it('asks for nothing that the server does not offer', async () => {
		const bare = laser.withCapabilities({ query: { available: false } });
		await expect(bare.query('orders_v1').fetch()).rejects.toThrow(UnsupportedError);
	});

	it('gives up with the signal', async () => {
		const abort = new AbortController();
		const fetched = laser.query('orders_v1').fetch({ signal: abort.signal });
		abort.abort();
		await expect(fetched).rejects.toThrow(CancelledError);
	});
});
