import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlane } from '../../src/plane/index.js';
import { OPTIONS, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

const FIELDS = [
	{ name: 'id', pointer: '/id' },
	{ name: 'status', pointer: '/status' },
	{ name: 'total', pointer: '/total' },
];

let client: TestClient;

beforeEach(async () => {
	const log = new MemoryLog();
	await log.ensureTopic('shop', 'orders', 2);
	client = new TestClient(await createPlane(log, OPTIONS), log);
});

afterEach(() => client.plane.close());

async function bindOrders(extra: Record<string, unknown> = {}): Promise<void> {
	expect(await client.registerProjection('orders_v1.v1', FIELDS)).toEqual({ code: 'ok', message: '' });
	const reply = await client.applyBinding({
		source: { stream: 'shop', topic: 'orders' },
		default_projection: 'orders_v1.v1',
		index: 'orders_v1',
		notify: true,
		...extra,
	});
	expect(reply).toEqual({ code: 'ok', message: '' });
}

describe('publish, project, notify, query', () => {
	it('a published order appears in the feed and in the index', async () => {
		await bindOrders();
		await client.publish('shop', 'orders', 1, [{ id: 4, status: 'paid', total: 20 }]);
		await client.plane.settle();
		expect(await client.changes()).toEqual([
			{ v: 1n, index: 'orders_v1', partition_id: 1n, from_offset: 0n, to_offset: 0n, rows: 1n },
		]);
		const reply = await client.query('orders_v1');
		expect(reply.Ok.fields.map((f: { name: string }) => f.name)).toEqual(['id', 'status', 'total']);
		expect(reply.Ok.rows).toEqual([
			{
				values: [
					{ kind: 'long', value: 4n },
					{ kind: 'string', value: 'paid' },
					{ kind: 'long', value: 20n },
				],
			},
		]);
		expect(reply.Ok.page).toEqual({ offset: 0n, limit: 50n, has_more: false });
		expect(reply.Ok.context.frontier).toEqual([
			{
				stream: 'shop',
				topic: 'orders',
				partition_id: 1n,
				topic_created_at_micros: client.log.topicCreatedAtMicros('shop', 'orders'),
				applied_offset: 0n,
			},
		]);
		expect(reply.Ok.context.row_count).toBe(1n);
		expect(reply.Ok.context.resolved_target.kind).toBe('operational');
	});

	it('a binding without notify publishes no change', async () => {
		await bindOrders({ notify: undefined });
		await client.publish('shop', 'orders', 0, [{ id: 1 }]);
		await client.plane.settle();
		expect(await client.rows('orders_v1')).toEqual([[1n, null, null]]);
		expect(await client.changes()).toEqual([]);
	});

	it('records published before the binding are caught up', async () => {
		await client.publish('shop', 'orders', 0, [{ id: 1 }, { id: 2 }]);
		await bindOrders();
		await client.plane.settle();
		expect(await client.rows('orders_v1', { select: { fields: ['id'], payload: false } })).toEqual([
			[1n],
			[2n],
		]);
	});

	it('a query of an unknown index says so', async () => {
		expect(await client.query('nothing')).toEqual({ Err: { IndexNotFound: 'nothing' } });
	});

	it('read your writes sees what was published just before', async () => {
		await bindOrders();
		for (let id = 0; id < 5; id++) {
			await client.publish('shop', 'orders', id % 2, [{ id }]);
			const reply = await client.query('orders_v1', { consistency: 'read_your_writes' });
			expect(reply.Ok?.rows.length, text(reply)).toBe(id + 1);
			expect(reply.Ok.context.delivered_consistency).toBe('read_your_writes');
		}
	});
});
