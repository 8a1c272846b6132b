import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CDPSession, Page as PlaywrightPage } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { encodeChange } from '../../dev-server/src/plane/feed.js';
import { SeededRandom } from '../support/random.js';
import { chromiumPage, launchChromium } from './support/browsers.js';

const SEED = Number(process.env['SEED'] ?? 20_261_130);
const KILLS = Number(process.env['KILLS'] ?? 50);
const RATE = 1_100;
const RAW = { stream: 'shop', topic: 'events', partitions: 3 };
const FEED = { stream: '_agdx', topic: 'changes' };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const utf8 = new TextEncoder();

let server: DevServer;
let browser: Awaited<ReturnType<typeof launchChromium>>;
let processes: CDPSession;
const profile = mkdtempSync(join(tmpdir(), 'tidemark-kill-'));

beforeAll(async () => {
	server = await startServer({
		ws: '127.0.0.1:0',
		http: '127.0.0.1:0',
		staticDir: fileURLToPath(new URL('../../build/browser-page', import.meta.url)),
	});
	await server.log.ensureTopic(RAW.stream, RAW.topic, RAW.partitions);
	browser = await launchChromium(profile);
	processes = await browser.context.browser()!.newBrowserCDPSession();
});

afterAll(async () => {
	await browser?.close();
	await server?.close();
	rmSync(profile, { recursive: true, force: true });
});

/**
 * While it runs, at least a thousand records a second into each of the two topics; every record says which offset it
 * must have.
 */
class Producer {
	#began = 0;
	#ran = 0;
	#timer: NodeJS.Timeout | undefined;
	#made = 0;
	#lap = 0;
	failure: unknown;

	start(): void {
		this.#began = performance.now();
		this.#timer = setInterval(() => {
			this.#produce().catch((error: unknown) => {
				this.failure = error;
			});
		}, 10);
	}
	stop(): void {
		clearInterval(this.#timer);
		this.#ran = this.#elapsed();
		this.#timer = undefined;
	}
	#elapsed(): number {
		return this.#ran + (this.#timer === undefined ? 0 : performance.now() - this.#began);
	}
	get made(): number {
		return this.#made;
	}
	/** Records a second so far, of each topic. */
	get rate(): number {
		return (this.#made * 1_000) / this.#elapsed();
	}
	async #produce(): Promise<void> {
		const wanted = Math.ceil((this.#elapsed() * RATE) / 1_000);
		const count = wanted - this.#made;
		if (count <= 0) return;
		this.#made = wanted;
		const { log } = server;
		const partition = this.#lap++ % RAW.partitions;
		const next = log.end(RAW.stream, RAW.topic, partition);
		const at = Array.from({ length: count }, (_, index) => next + BigInt(index));
		const appended = log.append(
			RAW.stream,
			RAW.topic,
			partition,
			at.map((n) => ({ payload: utf8.encode(`{"n":${n}}`) })),
		);
		const feedNext = log.end(FEED.stream, FEED.topic, 0);
		const changes = at.map((_, index) => {
			const n = feedNext + BigInt(index);
			const change = {
				index: 'orders',
				partitionId: 0,
				fromOffset: n,
				toOffset: n,
				rows: 1,
				sourceStream: '',
			};
			return { payload: encodeChange(change, false) };
		});
		await Promise.all([appended, log.append(FEED.stream, FEED.topic, 0, changes)]);
	}
}

/** What the page's database holds, read in one transaction. */
interface Stored {
	records: { next: number[]; counts: number[]; total: number };
	changes: { next: number; count: number; total: number };
}

/** In the page: opens the application's database, which the rows and the positions share. */
function install(): void {
	const { installStores } = (globalThis as unknown as Page).tidemark;
	Object.assign(globalThis, {
		openApp: () =>
			new Promise<IDBDatabase>((resolve, reject) => {
				const asked = indexedDB.open('app', 1);
				asked.onupgradeneeded = () => {
					installStores(asked.result);
					for (const name of ['records', 'changes']) asked.result.createObjectStore(name, { keyPath: 'key' });
				};
				asked.onsuccess = () => resolve(asked.result);
				asked.onerror = () => reject(asked.error);
			}),
	});
}

interface Page {
	tidemark: typeof import('../../js/index.js');
	openApp(): Promise<IDBDatabase>;
}

/** In the page: follows both sources and writes one row per record, in the commit. `add` refuses a second one. */
async function start({ ws }: { ws: string }): Promise<void> {
	const { tidemark, openApp } = globalThis as unknown as Page;
	const store = new tidemark.IndexedDbStore({ open: openApp, stores: ['records', 'changes'], scope: 'me' });
	const laser = await tidemark.Laser.connectWithStream(ws, 'shop', { username: 'iggy', password: 'iggy' });
	const fail = (error: unknown): void => console.error(`FAILED ${String(error)}`);
	// Small enough for a commit within the patience of a kill, however much has piled up.
	const BATCH_BYTES = 128 * 1024;
	const step = (): void => console.debug('STEP');
	const records = async (): Promise<void> => {
		const watcher = laser.topic('events').durable('records', { store, batch: 1_000, byteCap: BATCH_BYTES });
		watcher.addEventListener('gap', (event) => fail(`gap ${JSON.stringify(event.gap, (_, v) => String(v))}`));
		watcher.addEventListener('persistence', (event) =>
			fail(`persistence ${event.persistence}: ${event.error}`),
		);
		for await (const batch of watcher.follow({ intervalMs: 20 })) {
			await batch.commit((tx) => {
				step();
				const rows = tx.objectStore('records');
				for (const one of batch.changes) {
					rows.add({ key: [one.partitionId, Number(one.offset)], n: one.json<{ n: number }>().n });
				}
			});
			step();
		}
	};
	const changes = async (): Promise<void> => {
		const watcher = laser.watch().durable('changes', { store, batch: 1_000, byteCap: BATCH_BYTES });
		watcher.addEventListener('gap', (event) => fail(`gap ${JSON.stringify(event.gap, (_, v) => String(v))}`));
		watcher.addEventListener('skipped', (event) => fail(`skipped ${event.malformed} ${event.version}`));
		let next: number | undefined;
		for await (const batch of watcher.follow({ intervalMs: 20 })) {
			next ??= Number(watcher.position.get(0) ?? 0n);
			const { offset, count } = batch.columns;
			const end = Number(batch.positions.get(0));
			if (Number(offset[0]) !== next || count !== end - next) {
				fail(`hole: ${count} changes from ${offset[0]} on, read from ${next} to ${end}`);
			}
			next = end;
			await batch.commit((tx) => {
				step();
				const rows = tx.objectStore('changes');
				batch.changes.forEach((one, index) => {
					rows.add({ key: Number(offset[index]), n: Number(one.fromOffset) });
				});
			});
			step();
		}
	};
	records().catch(fail);
	changes().catch(fail);
}

/** In the page: positions and row counts, in one transaction that waits for whatever a dead page left behind. */
async function look({ partitions }: { partitions: number }): Promise<Stored> {
	const database = await (globalThis as unknown as Page).openApp();
	const names = [...database.objectStoreNames];
	const positions = names.find((name) => name !== 'records' && name !== 'changes') as string;
	const transaction = database.transaction(names, 'readonly');
	const ask = <T>(request: IDBRequest<T>): Promise<T> =>
		new Promise((resolve, reject) => {
			request.onsuccess = () => resolve(request.result);
			request.onerror = () => reject(request.error);
		});
	const entries = (await ask(transaction.objectStore(positions).getAll())) as {
		name: string;
		positions: Iterable<[number, bigint]>;
	}[];
	const nextOf = (name: string): Map<number, bigint> =>
		new Map(entries.find((entry) => entry.name === name)?.positions ?? []);
	const records = transaction.objectStore('records');
	const next = Array.from({ length: partitions }, (_, id) => Number(nextOf('records').get(id) ?? 0n));
	const counts: number[] = [];
	for (const [id, end] of next.entries()) {
		counts.push(await ask(records.count(IDBKeyRange.bound([id, -1], [id, end], false, true))));
	}
	const changes = transaction.objectStore('changes');
	const feedNext = Number(nextOf('changes').get(0) ?? 0n);
	const result = {
		records: { next, counts, total: await ask(records.count()) },
		changes: {
			next: feedNext,
			count: await ask(changes.count(IDBKeyRange.bound(-1, feedNext, false, true))),
			total: await ask(changes.count()),
		},
	};
	database.close();
	return result;
}

/** In the page: rows whose content is not that of their key. */
async function strangers(): Promise<number> {
	const database = await (globalThis as unknown as Page).openApp();
	let found = 0;
	for (const name of ['records', 'changes']) {
		const rows = await new Promise<{ key: number | [number, number]; n: number }[]>((resolve, reject) => {
			const asked = database.transaction(name).objectStore(name).getAll();
			asked.onsuccess = () => resolve(asked.result);
			asked.onerror = () => reject(asked.error);
		});
		for (const { key, n } of rows) if ((typeof key === 'number' ? key : key[1]) !== n) found++;
	}
	database.close();
	return found;
}

function expectExactPrefix({ records, changes }: Stored): void {
	expect(records.counts).toEqual(records.next);
	expect(records.total).toBe(records.next.reduce((sum, next) => sum + next, 0));
	expect(changes).toEqual({ next: changes.next, count: changes.next, total: changes.next });
}

/**
 * A renderer that the browser kept in reserve may be among the killed. Then the first page made of it is dead: it is
 * refused, or is never answered for.
 */
async function newPage(): Promise<PlaywrightPage> {
	for (let attempt = 1; attempt <= 5; attempt++) {
		const asked = browser.context.newPage();
		const page = await Promise.race([asked, sleep(5_000)]).catch(() => sleep(100));
		if (page) return page;
		asked.then(
			(late) => late.close(),
			() => {},
		);
	}
	throw new Error('the browser makes no page any more');
}

async function killRenderers(): Promise<void> {
	const { processInfo } = (await processes.send('SystemInfo.getProcessInfo')) as {
		processInfo: { type: string; id: number }[];
	};
	for (const { type, id } of processInfo) if (type === 'renderer') process.kill(id, 'SIGKILL');
}

it(`a renderer killed at ${KILLS} moments under load loses nothing and writes nothing twice (seed ${SEED})`, async () => {
	console.log(`kill: seed ${SEED}`);
	const random = new SeededRandom(SEED);
	const producer = new Producer();
	const complaints: string[] = [];
	let steps = 0;
	const open = async () => {
		const page = await newPage();
		page.on('console', (message) => {
			if (message.text() === 'STEP') steps += 1;
			if (message.text().startsWith('FAILED')) complaints.push(message.text());
		});
		const driven = chromiumPage(page);
		await driven.open(server.addresses.http!);
		await driven.run(install);
		return { page, driven };
	};
	const trail: string[] = [];
	let before = 0;
	let advanced = 0;
	for (let kill = 0; kill < KILLS; kill++) {
		const { page, driven } = await open();
		const stored = await driven.run(look, { partitions: RAW.partitions });
		trail.push(JSON.stringify(stored));
		try {
			expectExactPrefix(stored);
		} catch (error) {
			console.log(`kill: what was stored at each start, the newest last:\n${trail.slice(-5).join('\n')}`);
			throw error;
		}
		const now = stored.records.total + stored.changes.total;
		expect(now).toBeGreaterThanOrEqual(before);
		if (now > before) advanced++;
		before = now;
		steps = 0;
		const crashed = page.waitForEvent('crash');
		// The page dies in the middle of whatever this led to.
		producer.start();
		driven.run(start, { ws: server.addresses.ws! }).catch(() => {});
		const after = random.below(5) === 0 ? 0 : 1 + random.below(12);
		const moment = random.below(after === 0 ? 800 : 40);
		const patience = performance.now() + 5_000;
		while (steps < after && performance.now() < patience) await sleep(2);
		await sleep(moment);
		await killRenderers();
		producer.stop();
		await crashed;
		await page.close();
		expect(complaints).toEqual([]);
		expect(producer.failure).toBeUndefined();
	}
	const { rate } = producer;
	const { driven } = await open();
	await driven.run(start, { ws: server.addresses.ws! });
	const ends = Array.from({ length: RAW.partitions }, (_, id) =>
		Number(server.log.end(RAW.stream, RAW.topic, id)),
	);
	const feedEnd = Number(server.log.end(FEED.stream, FEED.topic, 0));
	const deadline = Date.now() + 60_000;
	let last: Stored;
	do {
		await sleep(200);
		last = await driven.run(look, { partitions: RAW.partitions });
		expectExactPrefix(last);
	} while (last.records.total + last.changes.total < producer.made * 2 && Date.now() < deadline);
	console.log(
		`kill: ${KILLS} kills, ${advanced} of them after progress; ${producer.made} records a topic at ${rate.toFixed(0)}/s`,
	);
	expect(last.records.next).toEqual(ends);
	expect(last.changes.next).toBe(feedEnd);
	expect(feedEnd).toBe(producer.made);
	expect(await driven.run(strangers)).toBe(0);
	expect(complaints).toEqual([]);
	expect(rate).toBeGreaterThanOrEqual(1_000);
	// Kills that always came before the first commit would prove nothing.
	expect(advanced).toBeGreaterThan(KILLS / 4);
}, 600_000);
