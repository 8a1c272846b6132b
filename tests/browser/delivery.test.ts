import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {} from './page/globals.js';
import type { JournalSetup } from './page/journal.js';
import { launchers, type TestBrowser, type TestPage } from './support/browsers.js';
import { append, createTopic, type DevServer, PAYLOAD, testServer } from './support/servers.js';

const POLL = 100;
const STREAM = 'delivery';

let server: DevServer & { ws: string; http: string };
beforeAll(async () => {
	server = await testServer();
});
afterAll(() => server?.close());

const range = (from: number, count: number): string[] =>
	Array.from({ length: count }, (_, i) => `0:${from + i}`);

describe.each(['chromium', 'firefox'] as const)('delivery in %s', (name) => {
	let browser: TestBrowser;
	const pages: TestPage[] = [];
	let topics = 0;

	beforeAll(async () => {
		browser = await launchers[name]();
	});
	afterAll(() => browser?.close());
	afterEach(async () => {
		server.faults.clear();
		for (const page of pages.splice(0)) await page.close().catch(() => {});
	});

	async function openPage(): Promise<TestPage> {
		const page = await browser.page();
		pages.push(page);
		await page.open(server.http);
		return page;
	}

	/** A topic with so many records, and a journal of its own for it. */
	async function setUp(records: number): Promise<JournalSetup> {
		const topic = `${name}-${++topics}`;
		await createTopic(server, STREAM, topic);
		await append(server, STREAM, topic, records);
		return { ws: server.ws, stream: STREAM, topic, name: topic, batch: 10, byteCap: 11 * PAYLOAD };
	}

	it('a failed and an aborted poll move no offset, and the next one returns everything', async () => {
		const setup = await setUp(30);
		const page = await openPage();
		await page.run(async (given) => {
			const laser = await tidemark.Laser.connect(given.ws, { username: 'iggy', password: 'iggy' });
			const reader = laser.stream(given.stream).topic(given.topic).reader();
			Object.assign(globalThis, { reader });
			// Its first poll finds the source; what fails below is a poll of records.
			await reader.poll();
		}, setup);
		type Page = {
			reader: {
				poll(options?: object): Promise<readonly { offset: bigint }[]>;
				offsets: Map<number, bigint>;
			};
		};
		const poll = (abortAfterMs?: number) =>
			page.run(async (ms) => {
				const { reader } = globalThis as unknown as Page;
				const signal = ms === undefined ? {} : { signal: AbortSignal.timeout(ms) };
				const ended = await reader.poll(signal).then(
					(records) => records.map((record) => String(record.offset)),
					(error: { kind: string }) => error.kind,
				);
				return { ended, offset: String(reader.offsets.get(0)) };
			}, abortAfterMs);
		await append(server, STREAM, setup.topic, 5);
		await server.faults.apply({ kind: 'status', command: POLL, status: 3, times: 1 });
		expect(await poll()).toEqual({ ended: 'command', offset: '30' });
		await server.faults.apply({ kind: 'delay', command: POLL, ms: 1500, times: 1 });
		expect(await poll(200)).toEqual({ ended: 'cancelled', offset: '30' });
		expect(await poll()).toEqual({ ended: ['30', '31', '32', '33', '34'], offset: '35' });
		expect(await poll()).toEqual({ ended: [], offset: '35' });
	});

	it('half an answer and a lost connection move no offset: every record comes once', async () => {
		const setup = await setUp(100);
		const page = await openPage();
		for (const [index, kind] of ['half', 'drop', 'missized', 'text', 'half', 'drop'].entries()) {
			await server.faults.apply({ kind, command: POLL, skip: index * 3 });
		}
		const seen = await page.run(async (given) => {
			await journal.start(given);
			const rows = await journal.current.rowsAtLeast(100);
			await journal.current.stop();
			return { rows, failures: journal.current.failures };
		}, setup);
		expect(seen).toEqual({ rows: range(0, 100), failures: [] });
	});

	it('after an early break the batch comes again, and what was committed does not', async () => {
		const setup = await setUp(30);
		const page = await openPage();
		const seen = await page.run(async (given) => {
			const { watcher } = await journal.open(given);
			const batches: string[][] = [];
			for await (const batch of watcher) {
				batches.push(batch.changes.map((record) => `0:${record.offset}`));
				// Asking for the second batch has committed the first.
				if (batches.length === 2) break;
			}
			const again: string[][] = [];
			for await (const batch of watcher) again.push(batch.changes.map((record) => `0:${record.offset}`));
			return { batches, again };
		}, setup);
		expect(seen.batches.flat().length).toBeLessThan(30);
		expect(seen.again[0]).toEqual(seen.batches[1]);
		expect([...(seen.batches[0] as string[]), ...seen.again.flat()]).toEqual(range(0, 30));
	});

	it('a handler that throws, before or in commit, leaves neither rows nor position behind', async () => {
		const setup = await setUp(30);
		const page = await openPage();
		const seen = await page.run(async (given) => {
			const opened = await journal.open(given);
			const { watcher } = opened;
			const ends: string[] = [];
			const until = async (handle: (batch: never) => Promise<unknown>): Promise<void> => {
				try {
					for await (const batch of watcher) await handle(batch as never);
				} catch (error) {
					ends.push((error as Error).message);
				}
				ends.push(`${(await opened.rows()).length} rows, next ${watcher.position.get(0) ?? 0n}`);
			};
			await until(async () => {
				throw new Error('before commit');
			});
			await until((batch: Parameters<typeof opened.rowsOf>[0]) =>
				batch.commit((transaction) => {
					opened.rowsOf(batch)(transaction);
					throw new Error('in commit');
				}),
			);
			await until((batch: Parameters<typeof opened.rowsOf>[0]) =>
				batch.commit(async (transaction) => {
					opened.rowsOf(batch)(transaction);
					await Promise.resolve();
					throw new Error('later in commit');
				}),
			);
			await until((batch: Parameters<typeof opened.rowsOf>[0]) => batch.commit(opened.rowsOf(batch)));
			return { ends, rows: await opened.rows() };
		}, setup);
		expect(seen.ends).toEqual([
			'before commit',
			'0 rows, next 0',
			'in commit',
			'0 rows, next 0',
			'later in commit',
			'0 rows, next 0',
			'30 rows, next 30',
		]);
		expect(seen.rows).toEqual(range(0, 30));
	});

	it('a reload between handling and commit, or during the commit, loses nothing and writes nothing twice', async () => {
		const { byteCap: _, ...setup } = await setUp(10);
		const page = await openPage();
		// Handled, not committed.
		const first = await page.run(async (given) => {
			const opened = await journal.open(given);
			const batch = (await opened.watcher[Symbol.asyncIterator]().next()).value;
			return batch?.changes.length;
		}, setup);
		expect(first).toBe(10);
		await page.reload();
		expect(await page.run(async (given) => (await journal.open(given)).rows(), setup)).toEqual([]);
		let records = 10;
		for (const wait of [0, 1, 3, 10, 30]) {
			await append(server, STREAM, setup.topic, 10);
			records += 10;
			await page.run(
				async ({ given, pause }) => {
					const opened = await journal.open(given);
					const batch = (await opened.watcher[Symbol.asyncIterator]().next()).value;
					if (batch) batch.commit(opened.rowsOf(batch)).catch(() => {});
					await journal.sleep(pause);
				},
				{ given: setup, pause: wait },
			);
			await page.reload();
			// All of a batch, or nothing of it.
			const rows = await page.run(async (given) => (await journal.open(given)).rows(), setup);
			expect(rows).toEqual(range(0, rows.length));
			expect(rows.length % 10).toBe(0);
		}
		const rows = await page.run(
			async ({ given, wanted }) => {
				const opened = await journal.open(given);
				opened.follow();
				return opened.rowsAtLeast(wanted);
			},
			{ given: setup, wanted: records },
		);
		expect(rows).toEqual(range(0, records));
	});

	it('of two tabs with one durable name, the second waits for its turn and takes over', async () => {
		const setup = await setUp(20);
		const [first, second] = [await openPage(), await openPage()];
		await first.run((given) => journal.start(given), setup);
		await first.run(async () => (await journal.current.rowsAtLeast(20)).length);
		await second.run((given) => journal.start(given), setup);
		await append(server, STREAM, setup.topic, 20);
		await first.run(async () => (await journal.current.rowsAtLeast(40)).length);
		expect(await second.run(() => journal.current.watcher.state)).toBe('waiting_for_turn');
		await first.close();
		await append(server, STREAM, setup.topic, 20);
		const rows = await second.run(() => journal.current.rowsAtLeast(60));
		expect(rows).toEqual(range(0, 60));
		expect(await second.run(() => journal.current.states[0])).toBe('waiting_for_turn');
		expect(await second.run(() => journal.current.failures)).toEqual([]);
	});

	it('two tabs with one durable name and no Web Locks write every row once', async () => {
		const setup = await setUp(0);
		const both = [await openPage(), await openPage()];
		for (const page of both) {
			await page.run((given) => {
				journal.removeLocks();
				return journal.start({ ...given, batch: 5 }, 5);
			}, setup);
		}
		for (let round = 0; round < 60; round++) {
			await append(server, STREAM, setup.topic, 5);
			await new Promise((resolve) => setTimeout(resolve, 15));
		}
		const rows = await (both[0] as TestPage).run(() => journal.current.rowsAtLeast(300));
		await new Promise((resolve) => setTimeout(resolve, 500));
		expect(await (both[1] as TestPage).run(() => journal.current.rows())).toEqual(range(0, 300));
		expect(rows.length).toBe(300);
		const ends = await Promise.all(
			both.map((page) =>
				page.run(() => ({ conflicts: journal.current.conflicts, failures: journal.current.failures })),
			),
		);
		expect(ends.map((end) => end.failures)).toEqual([[], []]);
		// They did get into each other's way.
		expect(ends.reduce((sum, end) => sum + end.conflicts, 0)).toBeGreaterThan(0);
	});

	it('one durable name in two stores is two readers, neither of which waits', async () => {
		const setup = await setUp(20);
		const page = await openPage();
		const seen = await page.run(async (given) => {
			const one = await journal.open({ ...given, database: `${given.name}-one` });
			one.follow();
			const other = await journal.open({ ...given, database: `${given.name}-other` });
			other.follow();
			const rows = [await one.rowsAtLeast(20, 5_000), await other.rowsAtLeast(20, 5_000)];
			return { counts: rows.map((all) => all.length), states: [one.watcher.state, other.watcher.state] };
		}, setup);
		expect(seen.counts).toEqual([20, 20]);
		expect(seen.states).not.toContain('waiting_for_turn');
	});
});
