import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, type Fault, startServer } from '../../../dev-server/src/index.js';
import {
	Consumer,
	type Handler,
	InvalidError,
	Laser,
	type Position,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	type RangeAdvanced,
	type RowChange,
} from '../../../js/index.js';

const USER = { username: 'iggy', password: 'iggy' };

let server: DevServer;
let laser: Laser;
let topics = 0;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0' });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', USER);
});
afterAll(async () => {
	await laser?.close();
	await server?.close();
});

async function until(what: string, isSo: () => boolean): Promise<void> {
	const deadline = Date.now() + 10_000;
	while (!isSo()) {
		if (Date.now() > deadline) throw new Error(`it did not come to be: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

interface Order {
	id: number;
	op?: RowChange['op'];
	in?: string;
}

function follow(topic: string, from?: Position, more: Partial<Handler<RowChange>> = {}) {
	const seen: unknown[] = [];
	const misfits: unknown[] = [];
	const skipped: number[] = [];
	const at: Position[] = [];
	const consumer = new Consumer<RowChange>({
		name: topic,
		source: laser.topicSource(laser.topic(topic), {
			intervalMs: 5,
			map: (record) => {
				const order = record.json<Order>();
				return {
					...{ namespace: { collection: order.in ?? 'orders' }, op: order.op ?? 'insert' },
					...{ key: order.id, after: order },
				};
			},
			onMisfit: (record) => {
				misfits.push(record.offset);
				throw new Error('of no consequence');
			},
		}),
		watched: { collections: ['orders'], system: ['users'] },
		observer: { feedSkipped: (_, records) => void skipped.push(records) },
		handler: {
			change: (change, position) => {
				seen.push(change.key);
				at.push(position);
			},
			gap: () => void seen.push('gap'),
			...more,
		},
	});
	const stop = new AbortController();
	const end = consumer.run(from, stop.signal);
	end.catch(() => {});
	const reach = (count: number) => until(`${count} of ${topic}`, () => seen.length >= count);
	return { consumer, seen, misfits, skipped, at, reach, end, stop };
}

/** Follows from now, once now is known. */
async function followFromNow(topic: string) {
	const follower = follow(topic);
	await until('open', () => follower.consumer.position !== undefined);
	return follower;
}

async function send(topic: string, ...orders: (Order | string)[]): Promise<void> {
	for (const order of orders) {
		const record = laser.topic(topic).publish();
		await (typeof order === 'string'
			? record.payload(new TextEncoder().encode(order))
			: record.json(order)
		).send();
	}
}

describe('a consumer of a topic', () => {
	it('reads from now, and goes on exactly after any position that it gave', async () => {
		const topic = `orders-${topics++}`;
		await laser.topic(topic).ensure(3);
		await send(topic, { id: 0 });
		const first = await followFromNow(topic);
		await send(topic, { id: 1 }, { id: 2 }, { id: 3 }, { id: 4 });
		await first.reach(4);
		first.stop.abort();
		await first.end;
		expect([...first.seen].sort()).toEqual([1, 2, 3, 4]);
		for (let index = 0; index < 4; index++) {
			const again = follow(topic, first.at[index]);
			await again.reach(3 - index);
			again.stop.abort();
			await again.end;
			expect([...again.seen].sort()).toEqual([...first.seen.slice(index + 1)].sort());
		}
	});

	it('leaves out and counts what the mapper throws on, and what is not watched', async () => {
		const topic = `orders-${topics++}`;
		await laser.topic(topic).ensure(1);
		const follower = await followFromNow(topic);
		await send(topic, { id: 1 }, 'no JSON', { id: 2, in: 'other' }, { id: 3 });
		await follower.reach(2);
		follower.stop.abort();
		await follower.end;
		expect(follower.seen).toEqual([1, 3]);
		expect(follower.misfits).toEqual([1n]);
		expect(follower.skipped).toEqual([1]);
	});

	it('leaves values of system collections where they are read', async () => {
		const topic = `orders-${topics++}`;
		await laser.topic(topic).ensure(1);
		const changes: RowChange[] = [];
		const follower = follow(topic, undefined, { change: (change) => void changes.push(change) });
		await until('open', () => follower.consumer.position !== undefined);
		await send(topic, { id: 7, in: 'users' });
		await until('a change', () => changes.length === 1);
		follower.stop.abort();
		await follower.end;
		expect(changes[0]).toMatchObject({ key: 7, system: true, complete: false });
		expect('after' in changes[0]!).toBe(false);
	});

	it('tells a gap where history was trimmed, and where the topic was made anew (D2, rows 16, 21)', async () => {
		for (const fault of ['trim', 'delete_topic']) {
			const topic = `orders-${topics++}`;
			await laser.topic(topic).ensure(1);
			const first = await followFromNow(topic);
			const start = first.consumer.position;
			await send(topic, { id: 1 }, { id: 2 }, { id: 3 });
			await first.reach(3);
			first.stop.abort();
			await first.end;
			await server.faults.apply({ kind: fault, stream: 'shop', topic, before: 2 } as Fault);
			if (fault === 'delete_topic') await laser.topic(topic).ensure(1);
			const second = follow(topic, start);
			await second.reach(1);
			await send(topic, { id: 4 });
			await second.reach(2);
			second.stop.abort();
			const end = await second.end;
			expect(second.seen).toEqual(['gap', 4]);
			const third = follow(topic, end);
			await send(topic, { id: 5 });
			await third.reach(1);
			third.stop.abort();
			await third.end;
			expect(third.seen).toEqual([5]);
		}
	});

	it('reads a topic whole that is made after it began', async () => {
		const topic = `orders-${topics++}`;
		const follower = await followFromNow(topic);
		const none = follower.consumer.position;
		await laser.topic(topic).ensure(1);
		await send(topic, { id: 1 }, { id: 2 });
		await follower.reach(2);
		follower.stop.abort();
		await follower.end;
		expect(follower.seen).toEqual([1, 2]);
		const later = follow(topic, none);
		await later.reach(2);
		later.stop.abort();
		await later.end;
		expect(later.seen).toEqual([1, 2]);
	});

	it('refuses a position of another kind of source', async () => {
		const follower = follow('orders', new Uint8Array([9, 9, 9]));
		await expect(follower.end).rejects.toBeInstanceOf(InvalidError);
	});

	it('hears that all is well after a quiet time', async () => {
		const topic = `orders-${topics++}`;
		await laser.topic(topic).ensure(1);
		let idles = 0;
		const follower = follow(topic, undefined, { idle: () => void idles++ });
		await until('idle', () => idles > 0);
		follower.stop.abort();
		await follower.end;
	});
});

describe('a consumer of the change feed', () => {
	it('is handed ranges of the indexes that it watches', async () => {
		const bind = async (topic: string, index: string): Promise<void> => {
			await laser.topic(topic).ensure(1);
			await laser
				.projections()
				.register(new ProjectionBuilder(`${index}.v1`).contentType('json').fields(['id']).build());
			await laser
				.bindings()
				.apply(
					new ProjectionBindingBuilder()
						.source('shop', topic)
						.allow(`${index}.v1`)
						.defaultProjection(`${index}.v1`)
						.index(index)
						.notify()
						.build(),
				);
			for (;;) {
				const found = await laser.projections().get(`${index}.v1`);
				if (found !== undefined && found.bindings.length > 0) return;
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
		};
		await bind('feed-a', 'a_v1');
		await bind('feed-b', 'b_v1');
		const seen: RangeAdvanced[] = [];
		const consumer = new Consumer({
			name: 'feed',
			source: laser.feedSource({ intervalMs: 5 }),
			watched: { collections: ['a_v1'] },
			handler: { change: (change) => void seen.push(change) },
		});
		const stop = new AbortController();
		const end = consumer.run(undefined, stop.signal);
		await until('open', () => consumer.position !== undefined);
		await send('feed-b', { id: 1 });
		// It is in the feed, before what comes next.
		const reader = await laser.watch().index('b_v1').records();
		while ((await reader.poll()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
		await send('feed-a', { id: 2 });
		await until('a range', () => seen.length === 1);
		consumer.setWatched({ collections: ['a_v1', 'b_v1'] });
		await send('feed-b', { id: 3 });
		await until('another range', () => seen.length === 2);
		stop.abort();
		await end;
		expect(seen.map(({ kind, op, rows, from }) => ({ kind, op, rows, from }))).toEqual([
			{ kind: 'range', op: 'advance', rows: 1, from: 0n },
			{ kind: 'range', op: 'advance', rows: 1, from: 1n },
		]);
		expect(seen.map((one) => one.index.replace(/^.*[/:]/, ''))).toEqual(['a_v1', 'b_v1']);
	});
});
