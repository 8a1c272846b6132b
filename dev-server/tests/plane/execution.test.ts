/** Running queries: cancel, deadline, limits, and cursors that belong to one execution and expire. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DevDestination } from '../../src/contract.js';
import { createPlane } from '../../src/plane/index.js';
import { encodeCbor } from '../../src/plane/wire/cbor.js';
import { OPTIONS, plainRows, queryOn, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

let client: TestClient;
let lake: DevDestination;

beforeAll(async () => {
	const log = new MemoryLog();
	client = new TestClient(await createPlane(log, OPTIONS), log);
	const schema = [
		{ name: 'id', type: 'long' },
		{ name: 'blob', type: 'binary' },
	] as const;
	const rows = Array.from({ length: 50 }, (_, i) => [i, null] as const);
	await client.plane.createIndex('x', schema, rows);
	lake = await client.plane.createDestination({ name: 'x', schema, rows });
	await client.plane.createIndex(
		'large',
		schema,
		Array.from({ length: 12 }, (_, i) => [i, new Uint8Array(8_000_000)] as const),
	);
});
afterAll(() => client.plane.close());
afterEach(() => client.plane.fault({ kind: 'clear' }));

/** Minutes of work. */
const SLOW = {
	dialect: 'postgres',
	sql: 'SELECT count(*) FROM range(100000000) a, range(1000000) b WHERE a.range + b.range = 3',
};
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const inMs = (ms: number) => BigInt(Date.now() + ms) * 1000n;

function slow(kind: string, extra: object = {}) {
	const lakehouse = { kind, destination_id: lake.id, destination_generation: lake.generation };
	return queryOn('x', { raw_sql: SLOW, ...(kind === 'lakehouse' ? { target: lakehouse } : {}), ...extra });
}

async function untilRunning(execution_id: Uint8Array): Promise<void> {
	for (;;) {
		const status = await client.send(1_000_203, { v: 1n, execution_id });
		if (status.Ok?.state === 'running') return;
		await pause(5);
	}
}

for (const kind of ['operational', 'lakehouse']) {
	describe(`a running ${kind} query`, () => {
		it('is seen, cancelled, and stays cancelled', async () => {
			const query = slow(kind);
			const running = client.send(1_000_200, { v: 1n, query });
			await untilRunning(query.execution_id);
			const request = { v: 1n, execution_id: query.execution_id };
			const began = Date.now();
			const cancelled = await client.send(1_000_202, request);
			expect(cancelled.Ok.state).toBe('cancelled');
			expect(cancelled.Ok.finished_at_micros).toBeGreaterThanOrEqual(cancelled.Ok.started_at_micros);
			expect(await running).toEqual({ Err: { Cancelled: { execution_id: query.execution_id } } });
			expect(Date.now() - began).toBeLessThan(5000);
			expect((await client.send(1_000_203, request)).Ok.state).toBe('cancelled');
			expect((await client.send(1_000_202, request)).Ok.state).toBe('cancelled');
			expect((await client.query('x')).Ok).toBeDefined();
		});

		it('ends at its deadline', async () => {
			const query = slow(kind, { deadline_micros: inMs(400) });
			const began = Date.now();
			expect(await client.send(1_000_200, { v: 1n, query })).toEqual({
				Err: { DeadlineExceeded: { execution_id: query.execution_id } },
			});
			expect(Date.now() - began).toBeLessThan(6000);
			const status = await client.send(1_000_203, { v: 1n, execution_id: query.execution_id });
			expect(status.Ok.state).toBe('expired');
			expect(status.Ok.error).toBeUndefined();
		});
	});
}

it('a cancel at any moment ends a query, before, between and after its statements', async () => {
	for (let ms = 0; ms < 40; ms += 4) {
		const query = slow('operational');
		const running = client.send(1_000_200, { v: 1n, query });
		await pause(ms);
		await client.send(1_000_202, { v: 1n, execution_id: query.execution_id });
		expect(await running).toEqual({ Err: { Cancelled: { execution_id: query.execution_id } } });
	}
});

describe('limits', () => {
	it('more queries at once than are allowed', async () => {
		await client.plane.fault({ kind: 'limits', concurrent: 1 });
		const query = slow('operational');
		const running = client.send(1_000_200, { v: 1n, query });
		await untilRunning(query.execution_id);
		const refused = queryOn('x');
		expect(await client.send(1_000_200, { v: 1n, query: refused })).toEqual({
			Err: { ResourceLimit: { resource: 'concurrent queries', observed: 2n, limit: 1n } },
		});
		const status = await client.send(1_000_203, { v: 1n, execution_id: refused.execution_id });
		expect(status.Ok).toMatchObject({ state: 'failed', error: { ResourceLimit: { limit: 1n } } });
		await client.send(1_000_202, { v: 1n, execution_id: query.execution_id });
		await running;
		expect((await client.query('x')).Ok).toBeDefined();
	});

	it('a reply of nearly 64 MiB is sent, a larger one is an error instead', async () => {
		const fits = queryOn('large', { page: { limit: 8n } });
		const reply = await client.plane.handle(1_000_200, encodeCbor({ v: 1n, query: fits }), {
			userId: 1,
			connectionId: 1,
		});
		expect(reply.length).toBeGreaterThan(64_000_000);
		expect(reply.length).toBeLessThanOrEqual(67_108_864);
		const over = queryOn('large', { page: { limit: 9n } });
		const refused = await client.send(1_000_200, { v: 1n, query: over });
		expect(refused.Err?.TooLarge, text(refused).slice(0, 200)).toMatchObject({
			what: 'query reply',
			cap: 67_108_864n,
		});
		expect(refused.Err.TooLarge.size).toBeGreaterThan(67_108_864n);
		const status = await client.send(1_000_203, { v: 1n, execution_id: over.execution_id });
		expect(status.Ok).toMatchObject({ state: 'failed', error: { TooLarge: { cap: 67_108_864n } } });
	});

	it('the exact bytes count', async () => {
		const query = () => queryOn('x', { page: { limit: 20n } });
		const send = (q: object) =>
			client.plane.handle(1_000_200, encodeCbor({ v: 1n, query: q }), { userId: 1, connectionId: 1 });
		const { length } = await send(query());
		await client.plane.fault({ kind: 'limits', replyBytes: length - 20 });
		expect(Object.keys((await client.send(1_000_200, { v: 1n, query: query() })).Err)).toEqual(['TooLarge']);
		await client.plane.fault({ kind: 'limits', replyBytes: length + 20 });
		expect((await send(query())).length).toBeGreaterThan(0);
		expect((await client.send(1_000_200, { v: 1n, query: query() })).Ok).toBeDefined();
	});
});

describe('cursors', () => {
	async function first() {
		const query = queryOn('x', { page: { limit: 10n } });
		const reply = await client.send(1_000_200, { v: 1n, query });
		const { execution_id, deadline_micros } = query;
		return { v: 1n, execution_id, cursor: reply.Ok.page.next_cursor as string, deadline_micros };
	}

	it('belong to one execution', async () => {
		const [one, two] = [await first(), await first()];
		const foreign = await client.send(1_000_201, { ...one, cursor: two.cursor });
		expect(foreign).toMatchObject({ code: 'invalid_argument' });
		expect(foreign.message).toContain('page_cursor');
		expect(
			(await client.send(1_000_201, { ...one, execution_id: new Uint8Array(16).fill(5) })).message,
		).toContain('page_cursor');
		expect(plainRows(await client.send(1_000_201, one))[0]![0]).toBe(10n);
	});

	it('expire, at once when a switch says so', async () => {
		const page = await first();
		await client.plane.fault({ kind: 'cursor_expiry' });
		expect((await client.send(1_000_201, page)).message).toContain('page_cursor');
		await client.plane.fault({ kind: 'clear' });
		expect((await client.send(1_000_201, page)).message).toContain('page_cursor');
		expect((await client.send(1_000_201, await first())).Ok).toBeDefined();
	});

	it('a later page has a deadline of its own', async () => {
		const page = await first();
		expect(await client.send(1_000_201, { ...page, deadline_micros: 1n })).toEqual({
			Err: { DeadlineExceeded: { execution_id: page.execution_id } },
		});
		expect((await client.send(1_000_201, page)).Ok).toBeDefined();
	});
});
