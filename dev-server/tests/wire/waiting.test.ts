import { afterEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openTcp, openWebSocket } from './client.js';
import { eviction, result, status } from './driver.js';
import { context, type DeferredOptions, NewerDriver, type Route } from './newer_driver.js';
import * as build from './requests.js';

let server: DevServer;
let driver: NewerDriver;
let route: Route;

async function start(options: Parameters<typeof startServer>[0] = {}, partitions = 1): Promise<void> {
	const listeners = { ws: '127.0.0.1:0', tcp: '127.0.0.1:0' };
	server = await startServer({ ...listeners, plane: false, dialect: 'v12', ...options });
	driver = await connect(1);
	await driver.createTopic('s', 't', partitions);
	route = await driver.route('s', 't');
}

async function connect(id: number): Promise<NewerDriver> {
	const made = new NewerDriver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, id));
	await made.login();
	return made;
}

afterEach(() => server.close());

const append = (...payloads: string[]) =>
	server.log.append(
		's',
		't',
		0,
		payloads.map((payload) => ({ payload: Buffer.from(payload) })),
	);

/** Sends a poll that waits and makes sure that the server has it. */
async function park(options: DeferredOptions = {}): Promise<Buffer> {
	const frame = driver.deferred('s', 't', route, { waitMs: 10_000, ...options });
	driver.client.send(frame);
	await driver.read(1);
	return frame;
}

async function reply(timeoutMs = 2000): Promise<Buffer> {
	const frame = await driver.client.next(timeoutMs);
	if (!frame) throw new Error('no reply');
	return frame;
}

const payloads = (frame: Buffer): string[] => build.readPoll(frame, 40).messages.map((one) => one.payload);
const number = (frame: Buffer): bigint => frame.readBigUInt64LE(frame[60] === 5 ? 168 : 200);

describe('a poll that may wait', () => {
	it('is answered at once when records are there, or when it does not want to wait', async () => {
		await start();
		const empty = await driver.client.call(driver.deferred('s', 't', route));
		expect([status(empty), payloads(empty)]).toEqual([0, []]);
		await append('a', 'b');
		const full = await driver.client.call(driver.deferred('s', 't', route, { waitMs: 5000 }));
		expect(payloads(full)).toEqual(['a', 'b']);
		expect(full.readBigUInt64LE(224)).toBe(route.incarnation);
		expect(full.readBigUInt64LE(256 + 16)).toBe(route.incarnation);
	});

	it('is woken by an append within milliseconds', async () => {
		await start();
		const waits: number[] = [];
		for (let round = 0; round < 20; round++) {
			await park({ value: BigInt(round) });
			const appended = performance.now();
			await append(`r${round}`);
			const answer = await reply();
			waits.push(performance.now() - appended);
			expect(payloads(answer)).toEqual([`r${round}`]);
		}
		waits.sort((a, b) => a - b);
		expect(waits[10]).toBeLessThan(20);
	});

	it('does not hold up the requests behind it, and many wait side by side', async () => {
		await start();
		const frames: Buffer[] = [];
		for (let n = 0; n < 50; n++) frames.push(await park({ minimum: (n % 2) + 1 }));
		const other = await connect(2);
		expect(status(await other.send('s', 't', route, 'one'))).toBe(0);
		const first = new Set<bigint>();
		for (let n = 0; n < 25; n++) first.add(number(await reply()));
		expect(first).toEqual(new Set(frames.filter((_, n) => n % 2 === 0).map(number)));
		await append('two');
		for (let n = 0; n < 25; n++) expect(payloads(await reply())).toEqual(['one', 'two']);
		expect(server.wire.parkingSpace.taken).toBe(0);
	});

	it('ends with what is there when the time is over', async () => {
		await start();
		await append('only');
		const began = performance.now();
		const frame = driver.deferred('s', 't', route, { waitMs: 80, minimum: 2 });
		const answer = await driver.client.call(frame);
		expect(performance.now() - began).toBeGreaterThan(70);
		expect(payloads(answer)).toEqual(['only']);
	});

	it('is answered once by a cancel, which has no reply of its own', async () => {
		await start();
		const parked = await park();
		const other = await park();
		const cancel = build.frame(2, 108, Buffer.alloc(0), {
			request: number(parked),
			session: driver.session,
			client: driver.id,
		});
		driver.client.send(cancel);
		const answer = await reply();
		expect([number(answer), status(answer), payloads(answer)]).toEqual([number(parked), 0, []]);
		driver.client.send(cancel);
		expect(await driver.client.next(100)).toBeUndefined();
		await append('x');
		expect(number(await reply())).toBe(number(other));
	});

	it('answers in full at once when the bytes are used up before the count is there', async () => {
		await start();
		await append('x'.repeat(300));
		await append('y'.repeat(300));
		const options = { waitMs: 10_000, minimum: 5, maxBytes: 700 };
		const answer = await driver.client.call(driver.deferred('s', 't', route, options));
		expect(answer.length - 256).toBeLessThanOrEqual(700);
		expect(payloads(answer)).toEqual(['x'.repeat(300)]);
		// The first message comes even when it is larger than what was asked for.
		const small = await driver.client.call(driver.deferred('s', 't', route, { maxBytes: 344 }));
		expect(payloads(small)).toEqual(['x'.repeat(300)]);
	});

	it('stores the offset of what it hands out, once', async () => {
		await start();
		await park({ kind: 5, autoCommit: true, minimum: 2 });
		await append('a');
		await driver.read(1);
		const meta = server.log.findTopic('s', 't')!.partitions[0]!;
		expect(meta.offsets.size).toBe(0);
		await append('b');
		expect(payloads(await reply())).toEqual(['a', 'b']);
		expect([...meta.offsets.values()]).toEqual([1n]);
	});

	it('whose partition is purged or deleted says so at once', async () => {
		await start();
		await park();
		await server.faults.apply({ kind: 'purge_topic', stream: 's', topic: 't' });
		expect(status(await reply())).toBe(87);
		route = await driver.route('s', 't');
		await park();
		await server.faults.apply({ kind: 'delete_topic', stream: 's', topic: 't' });
		expect(status(await reply())).toBe(2010);
	});

	it('beyond the capacity is refused with 90 and works later', async () => {
		await start({ deferredPolls: 2 });
		await park();
		await park();
		const third = driver.deferred('s', 't', route, { waitMs: 10_000 });
		expect(status(await driver.client.call(third))).toBe(90);
		await append('x');
		await reply();
		await reply();
		await park({ value: 1n });
		await append('y');
		expect(payloads(await reply())).toEqual(['y']);
	});

	it('leaves nothing behind when its connection ends, and is refused when its session does', async () => {
		await start();
		await park();
		driver.client.close();
		await expect.poll(() => server.wire.parkingSpace.taken).toBe(0);
		await append('nobody');
		driver.client = await openWebSocket(server.addresses.ws!);
		expect(status(await driver.bind())).toBe(0);
		await park({ value: 1n });
		const old = driver.client;
		driver.client = await openTcp(server.addresses.tcp!);
		expect(status(await driver.bind())).toBe(0);
		expect(status((await old.next())!)).toBe(40);
		await park({ value: 1n });
		await driver.write(3, Buffer.alloc(0));
		expect(status(await reply())).toBe(40);
	});

	it('is dropped by an eviction', async () => {
		await start();
		await park();
		await server.faults.apply({ kind: 'evict_all', reason: 1 });
		expect(eviction(await reply())).toBe(1);
		await append('x');
		expect(await driver.client.next(100)).toBeUndefined();
		expect(status(await driver.bind())).toBe(0);
	});

	it('can be cut by a fault when it is answered', async () => {
		await start();
		await server.faults.apply({ kind: 'half', command: 106 });
		await park();
		await append('x');
		expect(await driver.client.next(500)).toBeUndefined();
		await driver.client.closed;
	});

	it.each<[string, DeferredOptions]>([
		['a minimum of 0', { minimum: 0 }],
		['a minimum above the count', { count: 3, minimum: 4 }],
		['too few bytes', { maxBytes: 343 }],
		['a wait above ten minutes', { waitMs: 600_001, timeoutMs: 620_000 }],
		['a timeout within a second of the wait', { waitMs: 5000, timeoutMs: 5999 }],
		['no timeout', { timeoutMs: 0 }],
		['a timeout above its limit', { timeoutMs: 630_001 }],
	])('with %s is refused', async (_, options) => {
		await start();
		expect(status(await driver.client.call(driver.deferred('s', 't', route, options)))).toBe(3);
	});
});

interface Target {
	partition: number;
	offset?: bigint;
	kind?: number;
	maxBytes?: number;
	incarnation?: bigint;
	owner?: bigint;
}

function fetchBody(
	targets: Target[],
	options: {
		waitMs?: number;
		timeoutMs?: number;
		minimum?: number;
		count?: number;
		maxBytes?: number;
		autoCommit?: boolean;
	} = {},
): Buffer {
	const waitMs = options.waitMs ?? 0;
	const maxBytes = options.maxBytes ?? 1 << 20;
	return Buffer.concat([
		build.consumer('reader'),
		build.named('s'),
		build.named('t'),
		build.u64(BigInt(waitMs) * 1000n),
		build.u64(BigInt(options.timeoutMs ?? waitMs + 2000) * 1000n),
		build.u32(options.minimum ?? 1),
		build.u32(options.count ?? 100),
		build.u32(maxBytes),
		build.u8(options.autoCommit ? 1 : 0),
		build.u32(targets.length),
		...targets.map((target) =>
			Buffer.concat([
				build.u32(target.partition),
				build.u8(target.kind ?? 1),
				build.u64(target.offset ?? 0n),
				build.u32(target.maxBytes ?? maxBytes),
				build.u64(target.incarnation ?? route.incarnation),
				build.u64(target.owner ?? 0n),
			]),
		),
	]);
}

interface Section {
	partition: number;
	status: number;
	payloads: string[];
	next: bigint;
}

function sections(frame: Buffer): Section[] {
	expect(status(frame)).toBe(0);
	const body = frame.subarray(256);
	const count = body.readUInt32LE(0);
	let at = 4 + 56 * count;
	const read = Array.from({ length: count }, (_, index) => {
		const entry = body.subarray(4 + 56 * index, 60 + 56 * index);
		const length = entry.readUInt32LE(52);
		const records = Buffer.concat([Buffer.alloc(256), body.subarray(at, at + length)]);
		at += length;
		const payloads = build.readRecords(records, 256).map((one) => one.payload);
		expect(payloads).toHaveLength(entry.readUInt32LE(16));
		return {
			partition: entry.readUInt32LE(0),
			status: entry.readUInt32LE(4),
			payloads,
			next: entry.readBigUInt64LE(44),
		};
	});
	expect(at).toBe(body.length);
	return read;
}

describe('a fetch', () => {
	const put = (partition: number, ...texts: string[]) =>
		server.log.append(
			's',
			't',
			partition,
			texts.map((text) => ({ payload: Buffer.from(text) })),
		);

	it('reads several partitions in one reply, each from its own place', async () => {
		await start({}, 3);
		await put(0, 'a0', 'a1');
		await put(2, 'c0', 'c1', 'c2');
		const body = fetchBody([{ partition: 2, offset: 1n }, { partition: 0 }, { partition: 1 }]);
		expect(sections(await driver.read(109, body))).toEqual([
			{ partition: 2, status: 0, payloads: ['c1', 'c2'], next: 3n },
			{ partition: 0, status: 0, payloads: ['a0', 'a1'], next: 2n },
			{ partition: 1, status: 0, payloads: [], next: 0n },
		]);
	});

	it('waits for any of them, and goes on from the stored offsets', async () => {
		await start({}, 2);
		await put(0, 'old');
		const next = [
			{ partition: 0, kind: 5 },
			{ partition: 1, kind: 5 },
		];
		const first = await driver.read(109, fetchBody(next, { autoCommit: true }));
		expect(sections(first).map((one) => one.payloads)).toEqual([['old'], []]);
		driver.client.send(driver.frame(2, 109, fetchBody(next, { waitMs: 5000, autoCommit: true })));
		await driver.read(1);
		await put(1, 'new');
		expect(sections(await reply()).map((one) => one.payloads)).toEqual([[], ['new']]);
	});

	it('reports the partition that cannot be read and reads the others', async () => {
		await start({}, 2);
		await put(1, 'b0');
		const targets = [
			{ partition: 0, incarnation: 5_000_000n },
			{ partition: 7 },
			{ partition: 1, owner: 3n },
		];
		const read = sections(await driver.read(109, fetchBody(targets, { waitMs: 5000 })));
		expect(read.map((one) => one.status)).toEqual([87, 3007, 5009]);
	});

	it('stays within count and bytes over all partitions', async () => {
		await start({}, 3);
		for (const partition of [0, 1, 2]) for (let n = 0; n < 5; n++) await put(partition, 'x'.repeat(100));
		const targets = [0, 1, 2].map((partition) => ({ partition }));
		const counted = sections(await driver.read(109, fetchBody(targets, { count: 7 })));
		expect(counted.map((one) => one.payloads.length)).toEqual([5, 2, 0]);
		const capped = await driver.read(109, fetchBody(targets, { maxBytes: 3000 }));
		expect(capped.length - 256).toBeLessThanOrEqual(3000);
		expect(sections(capped)[0]!.payloads).toHaveLength(5);
	});

	it.each<[string, () => Buffer]>([
		['the same partition twice', () => fetchBody([{ partition: 0 }, { partition: 0 }])],
		['no target', () => fetchBody([])],
		['a strategy by time', () => fetchBody([{ partition: 0, kind: 2 }])],
		['a share above the whole', () => fetchBody([{ partition: 0, maxBytes: 2000 }], { maxBytes: 1000 })],
		['a timeout without slack', () => fetchBody([{ partition: 0 }], { timeoutMs: 999 })],
	])('with %s is refused', async (_, body) => {
		await start();
		expect(status(await driver.read(109, body()))).toBe(3);
	});
});

describe('a group', () => {
	it('reads with the owner that it was given, and no longer with an earlier one', async () => {
		await start({}, 1);
		await append('a');
		const group = [build.named('s'), build.named('t')];
		await driver.write(139, Buffer.concat([...group, build.name('g')]));
		const member = Buffer.concat([...group, build.named('g')]);
		expect(result(await driver.write(148, member))).toBe(0);
		const body = build.pollBody('s', 't', { consumer: build.group('g') });
		const first = await driver.read(100, body, context(route));
		const owner = first.readBigUInt64LE(256 + 24);
		expect(owner).toBeGreaterThan(0n);
		expect(status(await driver.read(100, body, { ...context(route), owner }))).toBe(0);
		await driver.write(149, member);
		await driver.write(148, member);
		expect(status(await driver.read(100, body, { ...context(route), owner }))).toBe(5009);
	});
});
