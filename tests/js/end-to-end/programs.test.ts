import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../../dev-server/src/index.js';
import {
	type ChangeRecord,
	isReady,
	Laser,
	MemoryStore,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	unreadyBackends,
} from '../../../js/index.js';
import { Laser as WatchLaser } from '../../../js/watch.js';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const USER = { username: 'iggy', password: 'iggy' };

let server: DevServer;
let laser: Laser;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0', readyAfterMs: 300 });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', USER);
});

afterAll(async () => {
	await laser?.close();
	await server?.close();
});

/** A projection and a notifying binding for `orders_v1`, waited for until they are in force. */
async function bindOrders(): Promise<void> {
	await laser.topic('orders').ensure(1);
	await laser
		.projections()
		.register(
			new ProjectionBuilder('orders_v1.v1').contentType('json').fields(['id', 'status', 'total']).build(),
		);
	await laser
		.bindings()
		.apply(
			new ProjectionBindingBuilder()
				.source('shop', 'orders')
				.allow('orders_v1.v1')
				.defaultProjection('orders_v1.v1')
				.index('orders_v1')
				.notify()
				.build(),
		);
	for (let i = 0; i < 100; i++) {
		const found = await laser.projections().get('orders_v1.v1');
		if (found !== undefined && found.bindings.length > 0) return;
		await sleep(50);
	}
	throw new Error('the binding did not come into force');
}

describe('example programs, over the wire', () => {
	it('2: readiness starts unready and is waited for', async () => {
		const caps = await laser.waitUntilReady(30_000);
		expect(isReady(caps)).toBe(true);
		expect(caps.query.available).toBe(true);
		expect(typeof caps.kv.fencedLeases).toBe('boolean');
		expect(unreadyBackends(caps).length).toBe(0);
		expect(caps.backends[0]!.resourceId.toString()).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
	});

	it('1: publish, and see the view advance', async () => {
		await bindOrders();
		const feed = await laser.watch().index('orders_v1').records();
		while ((await feed.poll()).length > 0) {
			// What an earlier run left.
		}
		const { confirmations } = await laser
			.topic('orders')
			.publish()
			.json({ id: 4, status: 'paid', total: 20 })
			.send();
		let changes = await feed.poll();
		while (changes.length === 0) {
			await sleep(200);
			changes = await feed.poll();
		}
		expect(changes).toEqual([
			{
				v: 1,
				index: 'stream:shop/orders_v1',
				partitionId: 0,
				fromOffset: confirmations[0]!.baseOffset,
				toOffset: confirmations[0]!.baseOffset,
				rows: 1,
			},
		] satisfies ChangeRecord[]);
	});

	it('3: another client resumes from saved offsets and sees every advancement once', async () => {
		await bindOrders();
		const first = await laser.watch().index('orders_v1').records();
		while ((await first.poll()).length > 0);
		const saved = first.offsets;
		for (let i = 0; i < 5; i++) await laser.topic('orders').publish().json({ id: i, total: i }).send();
		await server.plane!.settle();
		const other = await Laser.connectWithStream(server.addresses.ws!, 'shop', USER);
		const seen: bigint[] = [];
		const feed = (await other.watch().index('orders_v1').records()).fromOffsets(saved);
		for await (const change of feed.stream()) {
			for (let at = change.fromOffset; at <= change.toOffset; at++) seen.push(at);
		}
		await other.close();
		expect(seen.length).toBe(5);
		expect(new Set(seen).size).toBe(5);
	});
});

describe('a topic, without the managed plane’s help', () => {
	it('reads what was published, in order, with headers', async () => {
		const topic = laser.stream('plain').topic('events');
		await topic.ensure(1);
		await topic
			.publish()
			.json({ n: 2n ** 53n + 1n })
			.header('trace', 'abc')
			.send();
		const batch = topic.publishBatch();
		for (let i = 0; i < 50; i++) batch.addJson({ i });
		await batch.send();
		const records = await topic.reader().poll();
		expect(records.map((record) => record.offset)).toEqual(Array.from({ length: 51 }, (_, i) => BigInt(i)));
		expect(records[0]!.text()).toBe('{"n":9007199254740993}');
		expect(records[0]!.headers.get('trace')).toBe('abc');
		expect(records[0]!.headers.get('agdx.ct')).toBe(1);
		expect(records[50]!.json()).toEqual({ i: 49 });
	});

	it('a durable watcher commits, resumes after a cut, and names trimmed history', async () => {
		const topic = laser.stream('plain').topic('durable');
		await topic.ensure(1);
		const store = new MemoryStore();
		const publish = async (from: number, count: number): Promise<void> => {
			const batch = topic.publishBatch();
			for (let i = from; i < from + count; i++) batch.addJson(i);
			await batch.send();
		};
		await publish(0, 10);
		const watcher = topic.durable('events', { store });
		const seen: bigint[] = [];
		const abort = new AbortController();
		const loop = (async () => {
			for await (const batch of watcher.follow({ signal: abort.signal, intervalMs: 50 })) {
				await batch.commit((transaction) => {
					for (const record of batch.changes) transaction.put('rows', record.offset, record.json());
				});
				seen.push(...batch.changes.map((record) => record.offset));
			}
		})();
		const until = async (count: number): Promise<void> => {
			for (let i = 0; i < 400 && seen.length < count; i++) await sleep(25);
			expect(seen.length).toBe(count);
		};
		await until(10);
		await server.faults.apply({ kind: 'cut' } as never);
		await publish(10, 10);
		await until(20);
		abort.abort();
		await expect(loop).rejects.toMatchObject({ kind: 'cancelled' });
		expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => BigInt(i)));
		expect(store.rows('rows').size).toBe(20);
		expect(watcher.position.get(0)).toBe(20n);

		await publish(20, 10);
		await server.faults.apply({ kind: 'trim', stream: 'plain', topic: 'durable' } as never);
		await publish(30, 1);
		const gaps: string[] = [];
		watcher.addEventListener('gap', ({ gap }) =>
			gaps.push(`${gap.partitionId} ${gap.asked} ${gap.firstAvailable}`),
		);
		for await (const batch of watcher) seen.push(...batch.changes.map((record) => record.offset));
		expect(gaps.length).toBe(1);
		expect(gaps[0]).toMatch(/^0 20 \d+$/);
		expect(seen.at(-1)).toBe(30n);
	});

	it('offsetForTime finds the beginning and the end', async () => {
		const topic = laser.stream('plain').topic('events');
		expect([...(await topic.offsetForTime(0n))]).toEqual([[0, 0n]]);
		expect([...(await topic.offsetForTime(2n ** 62n))]).toEqual([[0, 51n]]);
	});
});

describe('the small entry', () => {
	it('watches and reads with its own wasm', async () => {
		const small = await WatchLaser.connectWithStream(server.addresses.ws!, 'small', USER);
		expect(await small.waitUntilReady(5_000)).toMatchObject({ managed: true, watch: true });
		await laser.stream('small').topic('t').ensure(2);
		await laser.stream('small').topic('t').publish().json(1).partition(1).send();
		const records = await small.topic('t').reader().poll();
		expect(records.map((record) => [record.partitionId, record.json()])).toEqual([[1, 1]]);
		expect(await (await small.watch().index('none').records()).poll()).toEqual([]);
		await small.close();
	});
});

describe('logging in', () => {
	it('wrong credentials end at once, without the password in the error', async () => {
		const error = await Laser.connect(server.addresses.ws!, { username: 'iggy', password: 'hunter2' }).catch(
			(caught: unknown) => caught,
		);
		expect(error).toBeInstanceOf(Error);
		expect(['eviction', 'command']).toContain((error as { kind: string }).kind);
		expect(JSON.stringify(error) + String(error)).not.toContain('hunter2');
	});

	it('a server that is not there is a TransportError within the budget', async () => {
		await expect(
			Laser.connect('ws://127.0.0.1:1', { ...USER, connectTimeoutMs: 1_000 }),
		).rejects.toMatchObject({ kind: 'transport' });
	});
});
