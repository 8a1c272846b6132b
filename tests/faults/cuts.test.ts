import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import {
	type Dialect,
	type Laser,
	MemoryStore,
	ProjectionBindingBuilder,
	ProjectionBuilder,
} from '../../js/index.js';
import { type Direction, FaultProxy, type Trouble } from '../support/fault-proxy.js';
import { SeededRandom } from '../support/random.js';
import { DIALECTS } from './support/ways.js';
import { append, connectCounted, logged, range, SocketCount, sleep, USER, within } from './support/world.js';

const SEED = Number(process.env['SEED'] ?? 45);
const POSITIONS = 200;
/** Sessions at once: a cut session mostly waits. */
const WORKERS = 4;
const STREAM = 'shop';
const INDEX_ROWS = 5;

let server: DevServer;
let dialects: readonly Dialect[];

async function start(dialect: Dialect): Promise<void> {
	dialects = [dialect];
	server = await startServer({ ws: '127.0.0.1:0', dialect });
	const laser = await connectCounted(
		server.addresses.ws!,
		{ ...USER, stream: STREAM, dialects },
		new SocketCount(),
	);
	await laser.waitUntilReady(10_000);
	await laser.topic('orders').ensure(1);
	await laser
		.projections()
		.register(new ProjectionBuilder('orders.v1').contentType('json').fields(['n']).build());
	await laser
		.bindings()
		.apply(
			new ProjectionBindingBuilder()
				.source(STREAM, 'orders')
				.allow('orders.v1')
				.defaultProjection('orders.v1')
				.index('orders')
				.notify()
				.build(),
		);
	await append(server, { stream: STREAM, topic: 'orders' }, range(0, INDEX_ROWS));
	await server.plane!.settle();
	await within(
		20_000,
		'the index has its rows',
		(async () => {
			for (;;) {
				const rows = await laser
					.query('orders')
					.fetch()
					.then(
						(result) => result.rows.length,
						() => 0,
					);
				if (rows === INDEX_ROWS) return;
				await sleep(50);
			}
		})(),
	);
	await laser.close();
}

let sessions = 0;

/** Everything that a session does, over a connection that something happens to. Fails where a promise is broken. */
async function wholeSession(proxy: FaultProxy, options: { watchdogMs?: number } = {}): Promise<void> {
	const count = new SocketCount();
	const place = { stream: STREAM, topic: `cuts-${sessions++}` };
	const laser = await connectCounted(
		proxy.ws,
		{ ...USER, stream: STREAM, dialects, publishRetryBackoffMs: 5, requestTimeoutMs: 5_000, ...options },
		count,
	);
	try {
		const topic = laser.topic(place.topic);
		await topic.ensure(1);
		for (const n of range(0, 3)) await topic.publish().json({ n }).partition(0).send();
		const batch = topic.publishBatch().partition(0);
		for (const n of range(3, 6)) batch.addJson({ n });
		await batch.send();
		// The server is there all the time, so no outcome may stay unknown, and none may be wrong.
		const model = await logged(server, place);
		expect(model).toEqual(range(0, 6));

		const reader = topic.reader({ batch: 2 });
		const polled: number[] = [];
		while (polled.length < model.length) {
			for (const record of await reader.poll()) polled.push(record.json<{ n: number }>().n);
		}
		expect(polled).toEqual(model);

		await followAll(laser, place, model);

		const { rows } = await laser.query('orders').fetch();
		expect(rows.length).toBe(INDEX_ROWS);
	} finally {
		await laser.close();
	}
	expect(count.most).toBe(1);
	expect(count.live).toBe(0);
}

async function followAll(laser: Laser, place: { topic: string }, model: readonly number[]): Promise<void> {
	const store = new MemoryStore();
	const gaps: unknown[] = [];
	const watcher = laser.topic(place.topic).durable('d', { store, batch: 2, byteCap: 200 });
	watcher.addEventListener('gap', (event) => gaps.push(event.gap));
	const rows: number[] = [];
	for await (const batch of watcher.follow({ intervalMs: 5 })) {
		await batch.commit(() => {
			for (const record of batch.changes) rows.push(record.json<{ n: number }>().n);
		});
		if (rows.length >= model.length) break;
	}
	expect(rows).toEqual(model);
	expect(gaps).toEqual([]);
}

async function underTrouble(trouble: Trouble): Promise<void> {
	const proxy = await FaultProxy.start(server.addresses.ws!);
	try {
		proxy.trouble(trouble);
		await within(15_000, JSON.stringify(trouble), wholeSession(proxy));
	} catch (cause) {
		throw new Error(`with ${JSON.stringify(trouble)}`, { cause });
	} finally {
		await proxy.close();
	}
}

async function all(troubles: readonly Trouble[]): Promise<void> {
	const queue = [...troubles];
	const work = async (): Promise<void> => {
		for (let next = queue.shift(); next !== undefined; next = queue.shift()) await underTrouble(next);
	};
	await Promise.all(Array.from({ length: WORKERS }, work));
}

/** Bytes and boundaries of a session that nothing happens to. */
async function undisturbed(): Promise<FaultProxy['traffic'][number]> {
	const proxy = await FaultProxy.start(server.addresses.ws!);
	await wholeSession(proxy);
	const { bytes, boundaries } = proxy.traffic[0]!;
	const copy = { bytes: { ...bytes }, boundaries: { up: boundaries.up, down: boundaries.down } };
	await proxy.close();
	expect(proxy.accepted).toBe(1);
	return copy;
}

const DIRECTIONS: readonly Direction[] = ['up', 'down'];

describe.each(DIALECTS)('a session with a server of %s that is cut off', (dialect) => {
	beforeAll(() => start(dialect));
	afterAll(() => server?.close());

	it('at every boundary of messages, both ways, ends with exactly the records', async () => {
		const { boundaries } = await undisturbed();
		const troubles = DIRECTIONS.flatMap((direction) =>
			range(0, boundaries[direction]).map((frames): Trouble => ({ cutAfterFrames: { direction, frames } })),
		);
		console.log(`cuts: ${troubles.length} boundaries`);
		expect(troubles.length).toBeGreaterThan(30);
		await all(troubles);
	}, 120_000);

	it(`at ${POSITIONS} positions of its bytes, both ways, ends with exactly the records (seed ${SEED})`, async () => {
		console.log(`cuts: seed ${SEED}`);
		const { bytes } = await undisturbed();
		const random = new SeededRandom(SEED);
		await all(
			range(0, POSITIONS).map((index): Trouble => {
				const direction = DIRECTIONS[index % 2]!;
				const at = { direction, bytes: 1 + random.below(bytes[direction]) };
				return { cutAfter: { ...at, reset: random.below(2) === 1 } };
			}),
		);
	}, 180_000);
});
