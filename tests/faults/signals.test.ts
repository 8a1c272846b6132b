import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { Laser, MemoryStore } from '../../js/index.js';
import { append, errorOf, range, sleep, USER } from './support/world.js';

let server: DevServer;
let laser: Laser;
const topic = 'events';
const CYCLES = 10_000;
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0' });
	await server.log.ensureTopic('shop', topic, 1);
	await append(server, { stream: 'shop', topic }, range(0, 10));
	laser = await Laser.connectWithStream(server.addresses.ws!, 'shop', USER);
	await laser.waitUntilReady(10_000);
});
afterAll(async () => {
	await laser?.close();
	await server?.close();
});

describe('a signal that lives as long as the page', () => {
	it('has no listener left after any call, however it ended', async () => {
		const { signal } = new AbortController();
		const subject = laser.topic(topic);
		const calls: [string, () => Promise<unknown>][] = [
			['connect', async () => (await Laser.connect(server.addresses.ws!, { ...USER, signal })).close()],
			[
				'connect, refused',
				() => errorOf(Laser.connect(server.addresses.ws!, { ...USER, password: 'x', signal })),
			],
			['ensure', () => subject.ensure(1, signal)],
			['publish', () => subject.publish().json({ n: 1 }).send({ signal })],
			['publish, refused', () => errorOf(laser.topic('none').publish().json({}).send({ signal }))],
			['poll', () => subject.reader().poll({ signal })],
			['poll, bare signal', () => subject.reader().poll(signal)],
			['capabilities', () => laser.refreshCapabilities({ signal })],
			['ready', () => laser.waitUntilReady(5_000, { signal })],
			['time', () => subject.offsetForTime(0n, { signal })],
			['query, refused', () => errorOf(laser.query('none').fetch({ signal }))],
			[
				'stream',
				async () => {
					for await (const _ of subject.reader().stream({ signal }))
						if (listeners(signal) > 2) throw new Error('piles up');
				},
			],
			[
				'stream, left',
				async () => {
					for await (const _ of subject.reader().stream({ signal })) break;
				},
			],
			[
				'follow, left',
				async () => {
					const watcher = subject.durable('follow', { store: new MemoryStore() });
					for await (const _ of watcher.follow({ signal })) break;
				},
			],
			[
				'readable, cancelled',
				async () => {
					const watcher = subject.durable('readable', { store: new MemoryStore() });
					const reader = watcher.readable({ signal }).getReader();
					await reader.read();
					await reader.cancel();
				},
			],
		];
		for (const [name, call] of calls) {
			await call();
			expect(listeners(signal), name).toBe(0);
		}
	});

	it('ends every waiting call with CancelledError, and has no listener left either', async () => {
		const waits: [string, (signal: AbortSignal) => Promise<unknown>][] = [
			['poll', (signal) => laser.topic(topic).reader().poll({ signal })],
			['publish', (signal) => laser.topic(topic).publish().json({ n: 1 }).send({ signal })],
			['capabilities', (signal) => laser.refreshCapabilities({ signal })],
			['ensure', (signal) => laser.topic(topic).ensure(1, signal)],
			[
				'follow',
				async (signal) => {
					const watcher = laser.topic('never').durable('follow', { store: new MemoryStore() });
					for await (const _ of watcher.follow({ signal })) throw new Error('there is nothing');
				},
			],
		];
		await server.faults.apply({ kind: 'delay', ms: 300 });
		for (const [name, wait] of waits) {
			const abort = new AbortController();
			const ended = errorOf(wait(abort.signal));
			await sleep(5);
			expect(listeners(abort.signal), name).toBeGreaterThan(0);
			abort.abort(new Error('no longer wanted'));
			expect(await ended, name).toMatchObject({ kind: 'cancelled', cause: { message: 'no longer wanted' } });
			expect(listeners(abort.signal), name).toBe(0);
			expect(await errorOf(wait(abort.signal)), `${name}, aborted before`).toMatchObject({
				kind: 'cancelled',
			});
		}
		server.faults.clear();
	}, 30_000);

	it('ten thousand aborted polls: no listener piles up, no memory, and none moves an offset', async () => {
		setFlagsFromString('--expose-gc');
		const collect = runInNewContext('gc') as () => void;
		const reader = laser.topic(topic).reader();
		const { signal: long } = new AbortController();
		await reader.poll(long);
		const heaps: number[] = [];
		let cancelled = 0;
		for (const cycle of range(0, CYCLES)) {
			const short = new AbortController();
			const poll = reader.poll(short.signal).catch(() => {
				cancelled += 1;
			});
			// Before it was sent, and while it is under way.
			if (cycle % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
			short.abort();
			await poll;
			expect(listeners(short.signal)).toBe(0);
			if (cycle % 10 === 0) await reader.poll(long);
			if (cycle % (CYCLES / 5) === CYCLES / 5 - 1) {
				await sleep(10);
				collect();
				const { heapUsed, arrayBuffers } = process.memoryUsage();
				heaps.push(heapUsed + arrayBuffers);
			}
		}
		expect(cancelled).toBeGreaterThan(CYCLES * 0.9);
		await reader.poll(long);
		expect(reader.offsets.get(0)).toBe(server.log.end('shop', topic, 0));
		expect(listeners(long)).toBe(0);
		console.log(`signals: heap ${heaps.map((heap) => (heap / 1024 / 1024).toFixed(1)).join(', ')} MiB`);
		expect(heaps.at(-1)! - heaps[0]!).toBeLessThan(2 * 1024 * 1024);
	}, 120_000);
});
