import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, type Fault, startServer } from '../../dev-server/src/index.js';
import { encodeChange } from '../../dev-server/src/plane/feed.js';
import { Laser, MemoryStore } from '../../js/index.js';
import { Follower } from './support/follower.js';
import { append, errorOf, range, sleep, USER, until } from './support/world.js';

const INDEX = 'stream:shop/orders';

let server: DevServer;
let laser: Laser;
let topic: string;
let topics = 0;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0' });
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', USER);
});
afterAll(async () => {
	await laser?.close();
	await server?.close();
});
beforeEach(() => {
	topic = `topic-${topics++}`;
});

const place = (partition = 0) => ({ stream: 'shop', topic, partition });
const fault = (kind: string, more: Record<string, unknown> = {}): Promise<unknown> =>
	server.faults.apply({ kind, stream: 'shop', topic, ...more } as Fault);
const make = (partitions = 1): Promise<void> => server.log.ensureTopic('shop', topic, partitions);

describe('while a topic is followed', () => {
	let follower: Follower;
	afterEach(() => follower.stop());
	const follow = (options = {}): Follower => {
		follower = new Follower(laser, topic, options);
		return follower;
	};

	it('it is missing: a state says so, and it is read from its start when it is made', async () => {
		follow();
		await until('waiting_for_source', () => follower.states.includes('waiting_for_source'));
		await make();
		await append(server, place(), range(0, 5));
		await follower.reach(5);
		expect(follower.rows).toEqual(range(0, 5));
		expect(follower.errors).toEqual([]);
		expect(follower.gaps).toEqual([]);
	});

	it('it is deleted and made again: a gap says so, and its new life is read whole', async () => {
		await make();
		await append(server, place(), range(0, 5));
		follow();
		await follower.reach(5);
		await fault('delete_topic');
		await until('waiting_for_source', () => follower.states.includes('waiting_for_source'));
		await make();
		await append(server, place(), range(100, 103));
		await follower.reach(8);
		expect(follower.rows).toEqual([...range(0, 5), ...range(100, 103)]);
		expect(follower.gaps).toMatchObject([{ partitionId: 0, asked: 5n, reason: 'recreated' }]);
		expect(follower.errors).toEqual([]);
	});

	it('it is made anew in one go, with more records than were read: a gap, and none is passed over', async () => {
		await make();
		await append(server, place(), range(0, 5));
		follow();
		await follower.reach(5);
		await fault('recreate_topic');
		await append(server, place(), range(100, 120));
		await follower.reach(25);
		expect(follower.rows).toEqual([...range(0, 5), ...range(100, 120)]);
		expect(follower.gaps).toMatchObject([{ partitionId: 0, asked: 5n, reason: 'recreated' }]);
	});

	it('it is purged: the offsets that begin again are noticed', async () => {
		await make();
		await append(server, place(), range(0, 5));
		follow();
		await follower.reach(5);
		await fault('purge_topic');
		await append(server, place(), range(100, 103));
		await follower.reach(8, 20_000);
		expect(follower.rows).toEqual([...range(0, 5), ...range(100, 103)]);
		expect(follower.gaps).toMatchObject([{ partitionId: 0, asked: 5n, reason: 'rewound' }]);
	}, 30_000);

	it('its partitions grow in number: the new ones are read from their start', async () => {
		await make();
		await append(server, place(), range(0, 5));
		follow();
		await follower.reach(5);
		await fault('add_partitions', { count: 2 });
		await append(server, place(1), range(100, 105));
		await append(server, place(2), range(200, 205));
		await append(server, place(0), range(5, 7));
		await follower.reach(17, 20_000);
		expect([...follower.rows].sort((a, b) => a - b)).toEqual([
			...range(0, 7),
			...range(100, 105),
			...range(200, 205),
		]);
		expect(follower.gaps).toEqual([]);
		expect(follower.watcher.position).toEqual(
			new Map([
				[0, 7n],
				[1, 5n],
				[2, 5n],
			]),
		);
	}, 30_000);
});

describe('while nobody looks', () => {
	/** Reads what there is, once, as a job that runs now and then. */
	async function drain(store: MemoryStore): Promise<{ rows: number[]; gaps: unknown[] }> {
		const watcher = laser.topic(topic).durable('job', { store });
		const gaps: unknown[] = [];
		const rows: number[] = [];
		watcher.addEventListener('gap', (event) => {
			expect(rows.length, 'a gap comes before what follows it').toBe(0);
			gaps.push(event.gap);
		});
		for await (const batch of watcher) {
			for (const record of batch.changes) rows.push(record.json<{ n: number }>().n);
		}
		return { rows, gaps };
	}

	it('history is trimmed in part: a gap names what was asked for and what is first there', async () => {
		const store = new MemoryStore();
		await make();
		await append(server, place(), range(0, 5));
		expect((await drain(store)).rows).toEqual(range(0, 5));
		await append(server, place(), range(5, 20));
		await fault('trim', { before: 12 });
		expect(await drain(store)).toEqual({
			rows: range(12, 20),
			gaps: [{ partitionId: 0, asked: 5n, firstAvailable: 12n, reason: 'trimmed' }],
		});
	});

	it('history is trimmed within what was read: no gap', async () => {
		const store = new MemoryStore();
		await make();
		await append(server, place(), range(0, 10));
		await drain(store);
		await fault('trim', { before: 5 });
		await append(server, place(), range(10, 12));
		expect(await drain(store)).toEqual({ rows: range(10, 12), gaps: [] });
	});

	it('history is trimmed whole: a gap without a first offset, and what comes next is read', async () => {
		const store = new MemoryStore();
		await make();
		await append(server, place(), range(0, 5));
		await drain(store);
		await append(server, place(), range(5, 9));
		await fault('trim', { before: 'all' });
		const first = await drain(store);
		await append(server, place(), range(9, 12));
		const second = await drain(store);
		expect(first.rows).toEqual([]);
		expect(second.rows).toEqual(range(9, 12));
		expect([...first.gaps, ...second.gaps]).toMatchObject([{ partitionId: 0, asked: 5n }]);
	});

	it('a partition is trimmed whole that was never read, and one that was stays exact', async () => {
		const store = new MemoryStore();
		await make(2);
		await append(server, place(0), range(0, 3));
		await drain(store);
		await append(server, place(0), range(3, 5));
		await append(server, place(1), range(100, 110));
		await fault('trim', { partition: 1, before: 'all' });
		await append(server, place(1), range(110, 112));
		const { rows, gaps } = await drain(store);
		expect([...rows].sort((a, b) => a - b)).toEqual([3, 4, 110, 111]);
		expect(gaps).toEqual([{ partitionId: 1, asked: 0n, firstAvailable: 10n, reason: 'trimmed' }]);
	});
});

describe('broken change records', () => {
	it('are counted and passed over, and every good one around them is handed over', async () => {
		const feed = await laser.watch().index('orders').records();
		while ((await feed.poll()).length > 0);
		const { skipped: before } = feed;
		let next = 0n;
		const good = async (): Promise<void> => {
			const change = {
				index: INDEX,
				partitionId: 0,
				fromOffset: next,
				toOffset: next,
				rows: 1,
				sourceStream: '',
			};
			await server.log.append('_agdx', 'changes', 0, [{ payload: encodeChange(change, false) }]);
			next += 1n;
		};
		for (const [record, count] of [
			['malformed', 2],
			['foreign_index', 3],
			['wrong_version', 4],
		] as const) {
			await good();
			await server.faults.apply({ kind: 'change_record', record, index: INDEX, count });
			await good();
		}
		// Bytes of every kind that are no change record, and some that hardly miss.
		const whole = encodeChange(
			{ index: INDEX, partitionId: 0, fromOffset: 0n, toOffset: 0n, rows: 1, sourceStream: '' },
			false,
		);
		const junk = [
			...range(1, whole.length).map((length) => whole.slice(0, length)),
			Uint8Array.from([...whole, 0]),
			new TextEncoder().encode('{"v":1}'),
			Uint8Array.of(0xff),
			new Uint8Array(100_000).fill(0x9f),
		];
		await server.log.append(
			'_agdx',
			'changes',
			0,
			junk.map((payload) => ({ payload })),
		);
		await good();
		const seen: bigint[] = [];
		for (let changes = await feed.poll(); changes.length > 0; changes = await feed.poll()) {
			seen.push(...changes.map(({ fromOffset }) => fromOffset));
		}
		expect(seen).toEqual(range(0, 7).map(BigInt));
		expect(feed.skipped).toEqual({
			malformed: before.malformed + 2 + junk.length,
			version: before.version + 4,
			otherIndex: before.otherIndex + 3,
		});
		expect(feed.offsets.get(0)).toBe(server.log.end('_agdx', 'changes', 0));

		const durable: bigint[] = [];
		const watcher = laser.watch().index('orders').durable('broken', { store: new MemoryStore() });
		const said = { malformed: 0, version: 0 };
		watcher.addEventListener('skipped', ({ malformed, version }) => {
			said.malformed += malformed;
			said.version += version;
		});
		for await (const batch of watcher) durable.push(...batch.changes.map(({ fromOffset }) => fromOffset));
		expect(durable).toEqual(seen);
		expect(watcher.position.get(0)).toBe(server.log.end('_agdx', 'changes', 0));
		expect(watcher.skipped).toMatchObject(said);
		expect(said).toEqual({ malformed: feed.skipped.malformed, version: feed.skipped.version });
	});
});

describe('faults of requests', () => {
	afterEach(() => server.faults.clear());
	// A connection of its own for each: one that failed again and again waits longer before each dial.
	const connect = (): Promise<Laser> =>
		Laser.connect(server.addresses.ws!, { ...USER, stream: 'shop', publishRetryBackoffMs: 10 });

	it.each([
		['half', { kind: 'half' }],
		['half, after ten bytes', { kind: 'half', bytes: 10 }],
		['missized', { kind: 'missized' }],
		['text', { kind: 'text' }],
		['dropped before', { kind: 'drop', when: 'before' }],
		['dropped after', { kind: 'drop', when: 'after' }],
		['evicted', { kind: 'evict', reason: 7 }],
	])('%s, of every command of a feed: nothing is lost and nothing comes twice', async (_, what) => {
		await make();
		await append(server, place(), range(0, 10));
		for (const command of [200, 300, 100]) {
			await using own = await connect();
			await server.faults.apply({ ...what, command } as Fault);
			const follower = new Follower(own, topic);
			await follower.reach(10, 15_000);
			await follower.stop();
			expect(follower.rows).toEqual(range(0, 10));
			expect(follower.errors).toEqual([]);
			expect(follower.gaps).toEqual([]);
			await until('ready', () => own.connection.state === 'ready');
		}
	});

	it('a publish whose answer is dropped is stored once', async () => {
		await make();
		for (const [n, when] of ['before', 'after', 'before', 'after'].entries()) {
			await using own = await connect();
			await server.faults.apply({ kind: 'drop', when, command: 101 });
			await own.topic(topic).publish().json({ n }).partition(0).send();
		}
		const records = await server.log.read('shop', topic, 0, 0n, 100);
		expect(records.length).toBe(4);
	});

	it('a deleted topic fails a publish by name and code', async () => {
		const error = await errorOf(laser.topic(topic).publish().json({ n: 0 }).send());
		expect(error).toMatchObject({ kind: 'command', resultCode: 2010 });
	});

	it('everything at once for a while: the feed ends up exact', async () => {
		await make(2);
		const follower = new Follower(laser, topic);
		const faults: Fault[] = [
			{ kind: 'cut' },
			{ kind: 'text_all' },
			{ kind: 'evict_all', reason: 1 },
			{ kind: 'half', command: 100 },
			{ kind: 'drop', command: 300 },
			{ kind: 'status', command: 100, status: 58 },
		];
		let next = 0;
		for (const one of [...faults, ...faults]) {
			await server.faults.apply(one);
			await append(server, place(next % 2), range(next, next + 5));
			next += 5;
			await sleep(60);
		}
		await follower.reach(next, 30_000);
		await follower.stop();
		expect([...follower.rows].sort((a, b) => a - b)).toEqual(range(0, next));
		expect(follower.gaps).toEqual([]);
	}, 60_000);
});
