import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
	type Laser,
	MemoryStore,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	PublishFailedError,
} from '../../js/index.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { FrameProxy } from '../support/frame-proxy.js';
import { LASTING_EVICTIONS } from './support/evictions.js';
import { Follower } from './support/follower.js';
import { DIALECTS, type Reached, reach, WAYS } from './support/ways.js';
import { append, connectCounted, errorOf, logged, range, SocketCount, USER, until } from './support/world.js';

const STREAM = 'shop';
const CREATE_TOPIC = 302;
const SEND = 101;
const BIND = 15;
const PING = 1;

let reached: Reached;
let topics = 0;
let topic: string;
const place = (partition = 0) => ({ stream: STREAM, topic, partition });
const n = (record: { json<T>(): T }): number => record.json<{ n: number }>().n;

// What a client does, whoever the server is and whatever lies between.
describe.each(WAYS)('a client of a server of $name', (way) => {
	let proxy: FaultProxy;
	let count: SocketCount;
	let laser: Laser;
	beforeAll(async () => {
		reached = await reach(way);
	});
	afterAll(() => reached?.close());
	beforeEach(async () => {
		topic = `t${topics++}`;
		proxy = await FaultProxy.start(reached.url);
		count = new SocketCount();
		const options = { ...USER, stream: STREAM, publishRetryBackoffMs: 5, requestTimeoutMs: 5_000 };
		// The stable release is tried first: the others are found by negotiation.
		laser = await connectCounted(
			proxy.ws,
			way.dialect === 'snapshot' ? { ...options, dialects: ['snapshot'] } : options,
			count,
		);
		await laser.topic(topic).ensure(2);
	});
	afterEach(async () => {
		await laser.close();
		await proxy.close();
		reached.server.faults.clear();
		expect(count.most).toBe(1);
		expect(count.live).toBe(0);
	});

	it('speaks its dialect, with the first connection and after a redial', async () => {
		expect(laser.connection.dialect).toBe(way.dialect);
		expect(proxy.accepted).toBe(1);
		laser.connection.reconnect();
		await until('ready again', () => laser.connection.state === 'ready' && proxy.accepted === 2);
		expect(laser.connection.dialect).toBe(way.dialect);
	});

	it('publishes by partition, by key and in turn, and reads everything back in order', async () => {
		for (const at of range(0, 4)) await laser.topic(topic).publish().json({ n: at }).partition(1).send();
		const batch = laser.topic(topic).publishBatch().partition(0);
		for (const at of range(10, 60)) batch.addJson({ n: at });
		const { confirmations } = await batch.send();
		expect(confirmations).toMatchObject([{ partitionId: 0, baseOffset: 0n }]);
		await laser.topic(topic).publish().json({ n: 100 }).partitionKey('k').send();
		await laser.topic(topic).publish().json({ n: 101 }).header('a', 'b').send();
		const records = await laser.topic(topic).reader().poll();
		expect(records.length).toBe(56);
		for (const partition of [0, 1]) {
			const read = records.filter((record) => record.partitionId === partition);
			expect(read.map(n)).toEqual(await logged(reached.server, place(partition)));
			expect(read.map((record) => record.offset)).toEqual(range(0, read.length).map(BigInt));
		}
		expect(records.find((record) => n(record) === 101)?.headers.get('a')).toBe('b');
	});

	it('a publish whose answer is lost with the connection is stored once and confirmed', async () => {
		for (const when of ['before', 'after']) {
			await reached.server.faults.apply({ kind: 'drop', when, command: SEND });
			await laser.topic(topic).publish().json({ n: topics }).partition(0).send();
		}
		expect(await logged(reached.server, place())).toEqual([topics, topics]);
	});

	it('a topic whose answer is lost is made once', async () => {
		await reached.server.faults.apply({ kind: 'drop', when: 'after', command: CREATE_TOPIC });
		await laser.topic(`${topic}-more`).ensure(3);
		expect(reached.server.log.partitionCount(STREAM, `${topic}-more`)).toBe(3);
	});

	it('finds offsets for times, in every partition', async () => {
		const { server } = reached;
		await append(server, place(), range(0, 3));
		const [, , last] = await server.log.read(STREAM, topic, 0, 0n, 10);
		expect([...(await laser.topic(topic).offsetForTime(0n))]).toEqual([
			[0, 0n],
			[1, 0n],
		]);
		const behind = await laser.topic(topic).offsetForTime(last!.timestampMicros + 1n);
		expect(behind.get(0)).toBe(3n);
	});

	it('follows through cuts and restarts of the feed, and commits every record once', async () => {
		const follower = new Follower(laser, topic);
		for (const round of range(0, 6)) {
			await append(reached.server, place(round % 2), range(10 * round, 10 * round + 10));
			await follower.reach(10 * round + 10);
			const before = proxy.accepted;
			if (round % 2 === 0) proxy.cutAll();
			else await reached.server.faults.apply({ kind: 'cut' });
			await until('dialled again', () => proxy.accepted > before);
		}
		await follower.stop();
		expect([...follower.rows].sort((a, b) => a - b)).toEqual(range(0, 60));
		expect(follower.gaps).toEqual([]);
		expect(follower.errors).toEqual([]);
	});

	it('sees what is appended to an idle feed at once, in partitions old and new', async () => {
		const follower = new Follower(laser, topic);
		await until('idle', () => follower.states.includes('idle'));
		for (const round of range(0, 5)) {
			const at = performance.now();
			await append(reached.server, place(round % 2), [round]);
			await follower.reach(round + 1);
			expect(performance.now() - at).toBeLessThan(2_000);
		}
		await reached.server.faults.apply({ kind: 'add_partitions', stream: STREAM, topic, count: 1 });
		await append(reached.server, place(2), [5]);
		await follower.reach(6, 15_000);
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 6));
	});

	it('a durable watcher goes on in another client where it stopped', async () => {
		const store = new MemoryStore();
		const read = async (from: Laser): Promise<number[]> => {
			const rows: number[] = [];
			for await (const batch of from.topic(topic).durable('d', { store })) {
				await batch.commit(() => rows.push(...batch.changes.map(n)));
			}
			return rows;
		};
		await append(reached.server, place(), range(0, 5));
		expect(await read(laser)).toEqual(range(0, 5));
		await append(reached.server, place(), range(5, 9));
		const other = await connectCounted(reached.url, { ...USER, stream: STREAM }, new SocketCount());
		expect(await read(other)).toEqual(range(5, 9));
		await other.close();
	});

	it('lost and recreated history is told, and the new life is read whole', async () => {
		const follower = new Follower(laser, topic);
		await append(reached.server, place(), range(0, 10));
		await follower.reach(10);
		await reached.server.faults.apply({ kind: 'recreate_topic', stream: STREAM, topic });
		await append(reached.server, place(), range(10, 13));
		await follower.reach(13);
		expect(follower.gaps.length).toBeGreaterThanOrEqual(1);
		await laser.topic(topic).publish().json({ n: 13 }).partition(0).send();
		await follower.reach(14);
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 14));
	});

	it('an index advances, is watched and queried, and after a cut again', async () => {
		await laser.waitUntilReady(10_000);
		const index = topic;
		await laser
			.projections()
			.register(new ProjectionBuilder(`${index}.v1`).contentType('json').fields(['n']).build());
		await laser
			.bindings()
			.apply(
				new ProjectionBindingBuilder()
					.source(STREAM, topic)
					.allow(`${index}.v1`)
					.defaultProjection(`${index}.v1`)
					.index(index)
					.notify()
					.build(),
			);
		const feed = await laser.watch().index(index).records();
		for (const round of [1, 2]) {
			await laser.topic(topic).publish().json({ n: round }).partition(0).send();
			let rows = 0;
			const end = Date.now() + 10_000;
			while (rows < round && Date.now() < end) {
				rows = await laser
					.query(index)
					.fetch()
					.then(
						(result) => result.rows.length,
						() => 0,
					);
			}
			expect(rows).toBe(round);
			let changes = await feed.poll();
			while (changes.length === 0 && Date.now() < end) changes = await feed.poll();
			expect(changes.length).toBe(1);
			proxy.cutAll();
		}
	});
});

describe('a session of 0.12.2', () => {
	let proxy: FaultProxy;
	let laser: Laser;
	let asked: number;
	const connect = async (options = {}): Promise<void> => {
		asked = 0;
		laser = await connectCounted(
			proxy.ws,
			{
				stream: STREAM,
				dialects: ['v12'],
				publishRetryBackoffMs: 5,
				token: () => {
					asked += 1;
					return 'a-token-of-the-user';
				},
				scope: 'user',
				...options,
			},
			new SocketCount(),
		);
		await laser.topic(topic).ensure(1);
	};
	const redial = async (): Promise<void> => {
		const before = proxy.accepted;
		proxy.cutAll();
		await until('ready again', () => proxy.accepted > before && laser.connection.state === 'ready');
	};
	beforeAll(async () => {
		reached = await reach(WAYS[1]!, { tokens: ['a-token-of-the-user'] });
	});
	afterAll(() => reached?.close());
	beforeEach(async () => {
		topic = `t${topics++}`;
		proxy = await FaultProxy.start(reached.url);
	});
	afterEach(async () => {
		reached.server.faults.clear();
		await laser.close();
		await proxy.close();
	});

	it('is bound to the next connection without credentials', async () => {
		await connect();
		for (const _ of range(0, 3)) await redial();
		expect(asked).toBe(1);
	});

	it('that the server has forgotten is followed by a login on the same connection', async () => {
		await connect();
		await reached.server.faults.apply({ kind: 'status', status: 40, command: BIND });
		await redial();
		expect(asked).toBe(2);
		expect(proxy.accepted).toBe(2);
		await laser.topic(topic).publish().json({ n: 1 }).partition(0).send();
		expect(await logged(reached.server, place())).toEqual([1]);
	});

	it('that another took over under its client id, or a wrong secret, ends in a login', async () => {
		await connect();
		for (const reason of [1, 7, 13]) {
			const before = asked;
			await reached.server.faults.apply({ kind: 'evict', reason, command: BIND });
			await redial();
			expect(asked).toBe(before + 1);
		}
	});

	it('whose secret is wrong is not gone on with: a login follows, and what was sent is settled', async () => {
		const altering = await FrameProxy.start(reached.url);
		await connect();
		const other = await connectCounted(
			altering.ws,
			{ ...USER, stream: STREAM, dialects: ['v12'], publishRetryBackoffMs: 5 },
			new SocketCount(),
		);
		let binds = 0;
		altering.alter = (frame) => {
			if (frame[176] !== 2 || frame.readUInt32LE(196) !== BIND) return;
			binds += 1;
			frame[frame.length - 1]! ^= 1;
		};
		await reached.server.faults.apply({ kind: 'drop', when: 'after', command: SEND });
		await other.topic(topic).publish().json({ n: 1 }).partition(0).send();
		expect(binds).toBe(1);
		expect(await logged(reached.server, place())).toEqual([1]);
		await other.close();
		await altering.close();
	});

	it('is not to be had by a client that speaks the stable release alone: the error names the window', async () => {
		await connect();
		const error = await errorOf(
			connectCounted(reached.url, { ...USER, dialects: ['s11'] }, new SocketCount()),
		);
		expect(error).toMatchObject({ kind: 'eviction', reason: 14 });
		expect(error.message).toContain('0.12.2');
	});

	it('whose bound server lags is waited for', async () => {
		await connect();
		await reached.server.faults.apply({ kind: 'status', status: 58, command: BIND, times: 3 });
		await redial();
		expect(asked).toBe(1);
	});

	it('a send without an answer is sent again as it was, and stored once, without reading back', async () => {
		await connect();
		await reached.server.faults.apply({ kind: 'drop', when: 'after', command: SEND });
		const { confirmations } = await laser.topic(topic).publish().json({ n: 1 }).partition(0).send();
		expect(confirmations).toMatchObject([{ partitionId: 0, baseOffset: 0n }]);
		expect(await logged(reached.server, place())).toEqual([1]);
		expect(asked).toBe(1);
	});

	it('a send whose answer and session are lost is found in the log', async () => {
		await connect();
		await reached.server.faults.apply({ kind: 'drop', when: 'after', command: SEND });
		await reached.server.faults.apply({ kind: 'status', status: 40, command: BIND });
		await laser.topic(topic).publish().json({ n: 1 }).partition(0).send();
		expect(await logged(reached.server, place())).toEqual([1]);
		expect(asked).toBe(2);
	});

	it.each([58, 89, 90])('a send refused with %i is repeated as it was', async (status) => {
		await connect();
		await reached.server.faults.apply({ kind: 'status', status, command: SEND, times: 3 });
		await laser.topic(topic).publish().json({ n: 1 }).partition(0).send();
		expect(await logged(reached.server, place())).toEqual([1]);
	});

	it('a partition that was made anew is looked up again, by sends, polls and times', async () => {
		await connect();
		const send = (): Promise<unknown> => laser.topic(topic).publish().json({ n: 1 }).partition(0).send();
		const reader = laser.topic(topic).reader();
		await send();
		expect((await reader.poll()).length).toBe(1);
		await reached.server.faults.apply({ kind: 'recreate_topic', stream: STREAM, topic });
		await send();
		expect(await logged(reached.server, place())).toEqual([1]);
		expect((await laser.topic(topic).offsetForTime(0n)).get(0)).toBe(0n);
		expect((await laser.topic(topic).reader().poll()).length).toBe(1);
	});

	it('waits at the server: an idle feed asks seldom, and takes back what nobody wants', async () => {
		await connect();
		const follower = new Follower(laser, topic);
		await append(reached.server, place(), [0]);
		await follower.reach(1);
		await until('waiting at the server', () => reached.server.wire.parkingSpace.taken === 1);
		const { up } = proxy.traffic.at(-1)!.boundaries;
		await new Promise((done) => setTimeout(done, 2_000));
		expect(proxy.traffic.at(-1)!.boundaries.up - up).toBeLessThan(10);
		await append(reached.server, place(), [1]);
		await follower.reach(2, 1_000);
		await until('waiting at the server', () => reached.server.wire.parkingSpace.taken === 1);
		await follower.stop();
		await until('taken back', () => reached.server.wire.parkingSpace.taken === 0, 1_000);
	});

	it('a server without room for waiting reads is asked at the interval', async () => {
		await connect();
		await reached.server.faults.apply({ kind: 'status', status: 90, command: 106, times: 100 });
		const follower = new Follower(laser, topic);
		for (const at of range(0, 5)) {
			await append(reached.server, place(), [at]);
			await follower.reach(at + 1, 2_000);
		}
		await follower.stop();
		expect(follower.errors).toEqual([]);
	});

	it.each([1, 7, 8, 12, 13])(
		'evicted for %i: bound or logged in again, and the feed goes on',
		async (reason) => {
			await connect();
			const follower = new Follower(laser, topic);
			await append(reached.server, place(), range(0, 5));
			await follower.reach(5);
			const errors: unknown[] = [];
			laser.connection.addEventListener('state', ({ error }) => error && errors.push(error));
			await reached.server.faults.apply({ kind: 'evict_all', reason });
			await until('dialled again', () => proxy.accepted === 2);
			await append(reached.server, place(), range(5, 9));
			await follower.reach(9);
			await follower.stop();
			expect(follower.rows).toEqual(range(0, 9));
			expect(follower.errors).toEqual([]);
			expect(errors[0]).toMatchObject({ kind: 'eviction', reason });
			expect(asked).toBe([7, 8, 12].includes(reason) ? 2 : 1);
		},
	);

	it.each(LASTING_EVICTIONS)(
		'evicted for %i: no further dial (%s) until reconnect(), which logs in',
		async (reason, state) => {
			await connect();
			await reached.server.faults.apply({ kind: 'evict_all', reason });
			await until(state, () => laser.connection.state === state);
			expect(laser.connection.error).toMatchObject({ kind: 'eviction', reason });
			laser.connection.reconnect();
			await until('ready', () => laser.connection.state === 'ready');
			expect(proxy.accepted).toBe(2);
			expect(asked).toBe(2);
		},
	);

	it.each(['the follower', 'the client'])(
		'of a server that answers nothing else while it waits: the feed moves to a connection of its own, until %s ends',
		async (first) => {
			const holding = await FrameProxy.start(reached.url);
			// Pings of the first connection get no answer, as if they stood behind the deferred poll.
			holding.tamper = ({ code, connection }) => (code === PING && connection === 0 ? [] : undefined);
			await connect();
			const own = await connectCounted(
				holding.ws,
				{ ...USER, stream: STREAM, dialects: ['v12'] },
				new SocketCount(),
			);
			const follower = new Follower(own, topic);
			await append(reached.server, place(), range(0, 3));
			await follower.reach(3);
			await until('moved', () => holding.accepted === 2, 12_000);
			await append(reached.server, place(), range(3, 6));
			await follower.reach(6);
			await until('waiting at the server', () => reached.server.wire.parkingSpace.taken === 1);
			// The first connection serves everything else, undisturbed.
			await own.topic(topic).publish().json({ n: 6 }).partition(0).send();
			await follower.reach(7);
			expect(own.connection.state).toBe('ready');
			expect(holding.accepted).toBe(2);
			expect(follower.rows).toEqual(range(0, 7));
			expect(follower.errors).toEqual([]);
			if (first === 'the follower') {
				await follower.stop();
				await until('closed', () => holding.open === 1);
				await own.close();
			} else {
				await own.close();
				await until('closed', () => holding.open === 0);
				await follower.stop();
			}
			await holding.close();
		},
		30_000,
	);

	it('the dialect that a server took is tried first the next time', async () => {
		await connect();
		const another = await FaultProxy.start(reached.url);
		const frames: number[] = [];
		for (const _ of range(0, 3)) {
			const other = await connectCounted(another.ws, { ...USER }, new SocketCount());
			expect(other.connection.dialect).toBe('v12');
			frames.push(another.traffic.at(-1)!.boundaries.up);
			await other.close();
		}
		await another.close();
		// The first connection logs in twice.
		expect(frames.map((count) => count - frames[1]!)).toEqual([1, 0, 0]);
	});
});

describe.each(DIALECTS)('a publish to a server of %s that cannot be settled', (dialect) => {
	it('says how much is stored and how much may be', async () => {
		reached = await reach({ name: dialect, dialect, gateway: false });
		topic = 'unsettled';
		const proxy = await FaultProxy.start(reached.url);
		const options = { publishRetryBackoffMs: 5, publishMaxRetries: 1, publishTimeoutMs: 4_000 };
		const laser = await connectCounted(
			proxy.ws,
			{ ...USER, stream: STREAM, dialects: [dialect], requestTimeoutMs: 3_000, ...options },
			new SocketCount(),
		);
		await laser.topic(topic).ensure(1);
		const batch = laser.topic(topic).publishBatch().partition(0);
		// Two requests: the first is stored, the second is neither answered nor findable.
		for (const at of range(0, 3)) batch.addJson({ n: at, text: 'x'.repeat(7 * 1024 * 1024) });
		await reached.server.faults.apply({ kind: 'silent', command: SEND, skip: 1, times: 100 });
		await reached.server.faults.apply({ kind: 'silent', command: 100, times: 100 });
		const error = await errorOf(batch.send());
		expect(error).toBeInstanceOf(PublishFailedError);
		expect(error).toMatchObject({ committed: 2, unconfirmed: 1 });
		await laser.close();
		await proxy.close();
		await reached.close();
	});

	it('of one record that no request can hold is refused, with the limit named', async () => {
		reached = await reach({ name: dialect, dialect, gateway: false });
		const laser = await connectCounted(
			reached.url,
			{ ...USER, stream: STREAM, dialects: [dialect] },
			new SocketCount(),
		);
		await laser.topic('large').ensure(1);
		const error = await errorOf(
			laser
				.topic('large')
				.publish()
				.payload(new Uint8Array(16 * 1024 * 1024))
				.send(),
		);
		expect(error).toMatchObject({ kind: 'invalid', rule: 'message_too_large' });
		expect(error.message).toContain(String(16 * 1024 * 1024 - 4096));
		await laser.close();
		await reached.close();
	});
});
