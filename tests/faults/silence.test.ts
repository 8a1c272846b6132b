import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { type ConnectOptions, Laser } from '../../js/index.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { type Exchange, FrameProxy } from '../support/frame-proxy.js';
import { Follower } from './support/follower.js';
import {
	append,
	connectCounted,
	errorOf,
	logged,
	range,
	Seen,
	SocketCount,
	sleep,
	USER,
	until,
} from './support/world.js';

const WATCHDOG = 800;
const POLL = 100;

let server: DevServer;
let topic: string;
let topics = 0;
let seen: Seen;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0' });
});
afterAll(() => server?.close());
beforeEach(async () => {
	seen = new Seen();
	topic = `silence-${topics++}`;
	await server.log.ensureTopic('shop', topic, 1);
	await append(server, { stream: 'shop', topic }, range(0, 10));
});

describe('a network that goes silent', () => {
	let proxy: FaultProxy;
	let count: SocketCount;
	let laser: Laser;
	beforeEach(async () => {
		proxy = await FaultProxy.start(server.addresses.ws!);
		count = new SocketCount();
		const options: ConnectOptions = {
			...USER,
			stream: 'shop',
			watchdogMs: WATCHDOG,
			publishRetryBackoffMs: 5,
		};
		laser = seen.listen(await connectCounted(proxy.ws, options, count));
	});
	afterEach(async () => {
		await laser.close();
		await proxy.close();
		expect(count.most).toBe(1);
		expect(count.live).toBe(0);
	});

	it('is noticed within the watchdog, with and without anything to do, and the feed goes on', async () => {
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		for (const round of [1, 2, 3]) {
			const before = proxy.accepted;
			const at = performance.now();
			proxy.silence();
			await until('dialled again', () => proxy.accepted > before);
			// A slow machine may add to it; less than the watchdog would be wrong as well.
			expect(performance.now() - at).toBeLessThan(WATCHDOG + 1_500);
			await append(server, { stream: 'shop', topic }, range(10 * round, 10 * round + 10));
			await follower.reach(10 * round + 10);
		}
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 40));
		expect(follower.errors).toEqual([]);
		expect(seen.text).toContain('did not answer in time');
	});

	it('is not seen where there is none: an idle connection stays', async () => {
		await sleep(WATCHDOG * 3);
		expect(proxy.accepted).toBe(1);
		expect(laser.connection.state).toBe('ready');
	});

	it('a publish into it is committed once, on the next connection', async () => {
		proxy.silence();
		await laser.topic(topic).publish().json({ n: 10 }).partition(0).send();
		expect(await logged(server, { stream: 'shop', topic })).toEqual(range(0, 11));
	});

	it('a publish while nothing can be reached fails as unsent or unknown, never as stored', async () => {
		proxy.cutAll();
		proxy.refuse(true);
		const batch = laser.topic(topic).publishBatch().partition(0);
		const error = await errorOf(batch.addJson({ n: 10 }).send({ signal: AbortSignal.timeout(1_500) }));
		seen.add(error);
		expect(['cancelled', 'transport', 'publish', 'timeout']).toContain(error.kind);
		expect((error as { committed?: number }).committed ?? 0).toBe(0);
		proxy.refuse(false);
		await until('ready again', () => laser.connection.state === 'ready');
		expect(await logged(server, { stream: 'shop', topic })).toEqual(range(0, 10));
	});

	it('a slow line and one that says late that it closed change nothing', async () => {
		proxy.always = { bytesPerSecond: 20_000, lateCloseMs: 700, delayMs: 5 };
		const follower = new Follower(laser, topic, { seen, batch: 100 });
		await follower.reach(10);
		for (const round of [1, 2, 3]) {
			const before = proxy.accepted;
			await server.faults.apply({ kind: 'cut' });
			laser.connection.reconnect();
			await until('dialled again', () => proxy.accepted > before);
			await append(server, { stream: 'shop', topic }, range(10 * round, 10 * round + 10));
			await follower.reach(10 * round + 10, 20_000);
		}
		// The old sockets' ends arrive now, long after their successors opened.
		const { accepted } = proxy;
		await sleep(1_000);
		expect(proxy.accepted).toBe(accepted);
		expect(laser.connection.state).toBe('ready');
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 40));
		expect(follower.errors).toEqual([]);
	}, 60_000);
});

describe('a server that accepts and does not answer', () => {
	let proxy: FrameProxy;
	let laser: Laser | undefined;
	const silentFor = (isIt: (exchange: Exchange) => boolean): void => {
		proxy.tamper = (exchange) => (isIt(exchange) ? [] : undefined);
	};
	const options: ConnectOptions = {
		...USER,
		stream: 'shop',
		requestTimeoutMs: 400,
		watchdogMs: 5_000,
		connectTimeoutMs: 1_200,
	};
	beforeEach(async () => {
		proxy = await FrameProxy.start(server.addresses.ws!);
		laser = undefined;
	});
	afterEach(async () => {
		await laser?.close();
		await proxy.close();
	});

	it('the upgrade: TimeoutError or TransportError at the end of the budget', async () => {
		const mute = await FaultProxy.start(server.addresses.ws!);
		mute.always = { silentAfter: { direction: 'up', bytes: 1 } };
		const began = performance.now();
		const error = seen.add(await errorOf(Laser.connect(mute.ws, options)));
		expect(['timeout', 'transport']).toContain(error.kind);
		expect(performance.now() - began).toBeLessThan(4_000);
		await mute.close();
	});

	it('the login: TimeoutError at the end of the budget', async () => {
		silentFor(({ operation }) => operation === 1);
		const error = seen.add(await errorOf(Laser.connect(proxy.ws, options)));
		expect(error).toMatchObject({ kind: 'timeout' });
		await until('hung up', () => proxy.open === 0);
	});

	it('hello: connected, and nothing managed is offered', async () => {
		silentFor(({ operation, code }) => operation === 2 && code >= 1_000_000);
		laser = await Laser.connect(proxy.ws, options);
		const caps = await laser.capabilities();
		expect(caps.managed).toBe(false);
		expect(['failed', 'unknown']).toContain(caps.hello);
		expect(await errorOf(laser.watch().records())).toMatchObject({ kind: 'unsupported' });
		proxy.tamper = undefined;
		expect((await laser.refreshCapabilities()).managed).toBe(true);
	});

	it('a poll: TimeoutError, no offset is moved, and the next one reads everything', async () => {
		laser = await Laser.connect(proxy.ws, options);
		const reader = laser.topic(topic).reader();
		silentFor(({ operation, code }) => operation === 2 && code === POLL);
		const error = seen.add(await errorOf(reader.poll()));
		expect(error).toMatchObject({ kind: 'timeout' });
		expect(reader.offsets.size).toBe(0);
		proxy.tamper = undefined;
		expect((await reader.poll()).length).toBe(10);
	});

	it('a query: TimeoutError when its deadline and two seconds have passed', async () => {
		laser = await Laser.connect(proxy.ws, { ...options, connectTimeoutMs: 10_000 });
		await laser.waitUntilReady(10_000);
		silentFor(({ operation, code }) => operation === 2 && code > 1_000_000);
		const began = performance.now();
		const error = seen.add(await errorOf(laser.query('orders').deadline(300).fetch()));
		expect(error).toMatchObject({ kind: 'timeout' });
		expect(performance.now() - began).toBeLessThan(5_000);
	});

	it('a send: unknown is said where it is unknown', async () => {
		laser = await Laser.connect(proxy.ws, {
			...options,
			publishTimeoutMs: 400,
			publishMaxRetries: 1,
			publishRetryBackoffMs: 5,
		});
		silentFor(({ operation, code }) => operation === 160 || (operation === 2 && code === POLL));
		const error = seen.add(await errorOf(laser.topic(topic).publish().json({ n: 10 }).partition(0).send()));
		expect(error).toMatchObject({ kind: 'publish', committed: 0, unconfirmed: 1 });
	});

	it('a send, but polls: what is found in the log is stored', async () => {
		laser = await Laser.connect(proxy.ws, { ...options, publishTimeoutMs: 400, publishRetryBackoffMs: 5 });
		silentFor(({ operation }) => operation === 160);
		await laser.topic(topic).publish().json({ n: 10 }).partition(0).send();
		expect(await logged(server, { stream: 'shop', topic })).toEqual(range(0, 11));
	});
});
