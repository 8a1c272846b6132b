/** Executions over the wire: pages, giving up, what goes past a running query, and plain values of a caller's choice. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../../dev-server/src/index.js';
import { CancelledError, Laser, QueryError, type QueryResult, UnsupportedError } from '../../../js/index.js';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const SLOW = 'SELECT count(*) AS n FROM range(20000000000) r(i) WHERE i % 3 = 1';
const ROWS = 25;

let server: DevServer;
let laser: Laser;
const on = (index: string) => laser.queryTarget({ kind: 'operational', index });

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0', readyAfterMs: 0 });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', { username: 'iggy', password: 'iggy' });
	await laser.waitUntilReady(30_000);
	const rows = Array.from({ length: ROWS }, (_, i) => [i] as const);
	await server.plane!.createIndex('n', [{ name: 'id', type: 'long' }], rows);
}, 60_000);

afterAll(async () => {
	await laser?.close();
	await server?.close();
});

async function state(id: Parameters<Laser['queryStatus']>[0], wanted: string): Promise<string> {
	let last = '';
	for (let i = 0; i < 100; i++) {
		try {
			last = (await laser.queryStatus(id)).state;
			if (last === wanted) break;
		} catch (error) {
			// Not begun yet.
			if (!(error instanceof QueryError)) throw error;
		}
		await sleep(30);
	}
	return last;
}

describe('pages', () => {
	it('come one by one, of one execution, and see no row that came later', async () => {
		const request = on('n').orderAsc('id').limit(10);
		const pages: QueryResult[] = [];
		for await (const page of request.pages()) {
			if (pages.length === 0) await server.plane!.appendRows('n', [[1000n]]);
			pages.push(page);
		}
		expect(pages.map(({ rowCount }) => rowCount)).toEqual([10, 10, 5]);
		expect(pages.flatMap((page) => page.objects().map(({ id }) => id))).toEqual(
			Array.from({ length: ROWS }, (_, i) => BigInt(i)),
		);
		for (const { context } of pages) expect(context.executionId).toEqual(request.executionId);
	});

	it('of another execution are refused', async () => {
		const first = await on('n').limit(10).fetch();
		const other = on('n').executionId;
		const deadline = BigInt(Date.now() + 5000) * 1000n;
		await expect(laser.queryPage(other, first.page.nextCursor!, deadline)).rejects.toMatchObject({
			name: 'CommandError',
			codeName: 'invalid_argument',
		});
	});

	it('end with an error when the server has let go of the cursor', async () => {
		await server.plane!.fault!({ kind: 'cursor_expiry', ms: 1 });
		const pages = on('n').limit(10).pages();
		expect((await pages.next()).value!.rowCount).toBe(10);
		await sleep(20);
		await expect(pages.next()).rejects.toMatchObject({ name: 'CommandError', codeName: 'invalid_argument' });
		expect((await pages.next()).done).toBe(true);
		await server.plane!.fault!({ kind: 'clear' });
	});

	it('need the capability when asked for by cursor', async () => {
		const bare = laser.withCapabilities({ query: { cursorPaging: false } });
		const { executionId } = on('n');
		await expect(bare.queryPage(executionId, 'c', 0n)).rejects.toThrow(UnsupportedError);
	});
});

describe('a running query', () => {
	it('is cancelled on the server when its signal fires', async () => {
		const request = on('n').rawSql('postgres', SLOW);
		const abort = new AbortController();
		const fetched = request.fetch(abort);
		fetched.catch(() => {});
		expect(await state(request.executionId, 'running')).toBe('running');
		abort.abort();
		await expect(fetched).rejects.toThrow(CancelledError);
		expect(await state(request.executionId, 'cancelled')).toBe('cancelled');
	});

	it('is cancelled by name while it is waited for, and again when it has ended', async () => {
		const request = on('n').rawSql('postgres', SLOW);
		const refused = expect(request.fetch()).rejects.toThrow(QueryError);
		expect(await state(request.executionId, 'running')).toBe('running');
		expect((await request.cancel()).state).toBe('cancelled');
		await refused;
		expect((await request.cancel()).state).toBe('cancelled');
	});
});

describe('plain objects', () => {
	it('hold decimals and times of the caller’s classes, inside others too', async () => {
		class Exact {
			constructor(readonly text: string) {}
		}
		const decimal = { kind: 'decimal', precision: 38, scale: 2 } as const;
		await server.plane!.createIndex(
			'own',
			[
				{ name: 'd', type: decimal },
				{ name: 'at', type: 'timestamp_micros' },
				{ name: 'day', type: 'date' },
				{ name: 'in', type: { kind: 'list', element: decimal } },
			],
			[
				['12.50', 1_700_000_000_123_456n, 3, ['0.01', null]],
				[null, null, null, null],
			],
		);
		const result = await on('own').fetch();
		const own = result.objects({ decimal: Exact, temporal: (value, kind) => `${kind} ${value}` });
		expect(own).toEqual([
			{
				d: new Exact('12.50'),
				at: 'timestamp_micros 1700000000123456',
				day: 'date 3',
				in: [new Exact('0.01'), null],
			},
			{ d: null, at: null, day: null, in: null },
		]);
		expect(result.objects()[0]).toEqual({
			d: '12.50',
			at: 1_700_000_000_123_456n,
			day: 3,
			in: ['0.01', null],
		});
	});
});

describe('schemas', () => {
	it('are registered, read, listed and dropped, and decode records with their own names', async () => {
		const schemas = laser.schemas();
		const source = { kind: 'json_schema', schema: '{"type":"object"}' } as const;
		const id = await schemas.register(source).name('orders').version(3).send();
		expect(await schemas.get(id)).toEqual({
			schema: { id, source, name: 'orders', version: 3 },
			dropped: false,
		});
		expect((await schemas.list({ nameContains: 'rder' })).map(({ schema }) => schema.id)).toContain(id);
		expect(await schemas.get(id + 1000)).toBeUndefined();
		const text = '{"user_name":{"__proto__":1,"a_b":[{"c_d":null}]},"big":9007199254740993}';
		const decoded = (await schemas.decode(id, new TextEncoder().encode(text))) as Record<string, object>;
		expect(Object.keys(decoded)).toEqual(['user_name', 'big']);
		expect(Object.keys(decoded.user_name!)).toEqual(['__proto__', 'a_b']);
		expect(Object.entries(decoded.user_name!)[1]).toEqual(['a_b', [{ c_d: null }]]);
		expect(BigInt(decoded.big as unknown as bigint)).toBe(9007199254740993n);
		await schemas.drop(id);
		for (let i = 0; i < 50 && !(await schemas.get(id))?.dropped; i++) await sleep(20);
		expect((await schemas.get(id))?.dropped).toBe(true);
		expect(await schemas.decode(id, new TextEncoder().encode('{"x_y":1}'))).toEqual({ x_y: 1n });
	});
});
