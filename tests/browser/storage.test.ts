import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { storeConformance } from '../js/storage/conformance.js';
import type {} from './page/globals.js';
import type { JournalSetup } from './page/journal.js';
import { launchChromium, launchers, type TestBrowser, type TestPage } from './support/browsers.js';
import { append, createTopic, type DevServer, testServer } from './support/servers.js';

const STREAM = 'storage';
const KINDS = ['a database per durable name', 'one named database', 'the application’s database'] as const;

let server: DevServer & { ws: string; http: string };
beforeAll(async () => {
	server = await testServer();
});
afterAll(() => server?.close());

const range = (from: number, count: number): string[] =>
	Array.from({ length: count }, (_, i) => `0:${from + i}`);

describe.each(['chromium', 'firefox'] as const)('IndexedDbStore in %s', (name) => {
	let browser: TestBrowser;
	let page: TestPage;
	beforeAll(async () => {
		browser = await launchers[name]();
		page = await browser.page();
		await page.open(server.http);
	});
	afterAll(() => browser?.close());

	describe.each(KINDS)('conformance, %s', (kind) => {
		storeConformance<IDBTransaction>(
			{
				test: (title) =>
					it(title, () =>
						page.run(({ which, what }) => conformance.run(which, what), { which: kind, what: title }),
					),
				equal: () => {},
			},
			{ open: () => Promise.reject(), putRow: () => {}, getRow: () => Promise.reject() },
		);
	});

	/** Runs in the page: a store with object store `rows`, and what a call ended with. */
	it('an upgrade that another connection blocks is a retryable error in time', async () => {
		const seen = await page.run(async () => {
			const key = { scope: 'default', name: 'blocked' };
			const holder = await new Promise<IDBDatabase>((resolve) => {
				const asked = indexedDB.open('tidemark:default:blocked', 1);
				asked.onupgradeneeded = () => tidemark.installStores(asked.result);
				asked.onsuccess = () => resolve(asked.result);
			});
			const store = new tidemark.IndexedDbStore({ version: 2, blockedTimeoutMs: 200 });
			const ended = await store.read(key).then(
				() => 'read',
				(error: { reason: string; retryable: boolean }) => `${error.reason} ${error.retryable}`,
			);
			holder.close();
			await journal.sleep(300);
			return [ended, (await store.read(key)) === undefined];
		});
		expect(seen).toEqual(['blocked true', true]);
	});

	it('a newer version in another tab gets its way, and the older application goes on with what is there', async () => {
		const other = await browser.page();
		await other.open(server.http);
		const put = (on: TestPage, version: number, next: number) =>
			on.run(
				async (given) => {
					const store = new tidemark.IndexedDbStore({
						version: given.version,
						upgrade: (database, event) => {
							for (let made = event.oldVersion + 1; made <= (event.newVersion ?? 0); made++) {
								database.createObjectStore(`rows-${made}`);
							}
						},
					});
					Object.assign(globalThis, { store });
					const key = { scope: 'default', name: 'versions' };
					let before = 'nothing';
					await store.update(key, (stored) => {
						before = String(stored?.positions.get(0));
						return {
							put: {
								positions: new Map([[0, BigInt(given.next)]]),
								identity: undefined,
								epoch: 1,
								updatedAt: 1,
								source: { content: 'records', stream: 's', topic: 't' },
							},
						};
					});
					return before;
				},
				{ version, next },
			);
		expect(await put(page, 1, 5)).toBe('undefined');
		// The first tab's connection is open: it gives way.
		expect(await put(other, 2, 6)).toBe('5');
		// The older application once more: VersionError, then whatever version is there.
		expect(await put(page, 1, 7)).toBe('6');
		await other.close();
	});

	it('a deleted database, and a connection that closes, cost one more open and no row', async () => {
		const seen = await page.run(async () => {
			const key = { scope: 'default', name: 'deleted' };
			const store = new tidemark.IndexedDbStore({
				upgrade: (database) => database.createObjectStore('rows', { autoIncrement: true }),
			});
			const put = (next: bigint): Promise<void> =>
				store.update(
					key,
					() => ({
						put: {
							positions: new Map([[0, next]]),
							identity: undefined,
							epoch: 1,
							updatedAt: 1,
							source: { content: 'records', stream: 's', topic: 't' },
						},
					}),
					(transaction) => transaction.objectStore('rows').put(String(next)),
				);
			const rows = (): Promise<unknown[]> =>
				store.transaction(['rows'], 'readonly', (transaction) => {
					const asked = transaction.objectStore('rows').getAll();
					return new Promise((resolve) => {
						asked.onsuccess = () => resolve(asked.result);
					});
				});
			await put(1n);
			// Deleted by the user: our connection gives way, the next call finds nothing.
			await new Promise((resolve, reject) => {
				const asked = indexedDB.deleteDatabase('tidemark:default:deleted');
				asked.onsuccess = resolve;
				asked.onblocked = reject;
			});
			const afterDelete = await store.read(key);
			await put(2n);
			// Closed behind our back: the call fails with InvalidStateError, and is made again on a new connection.
			const transaction = IDBDatabase.prototype.transaction;
			let closings = 0;
			IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...args) {
				if (closings++ === 0) this.close();
				return transaction.apply(this, args as Parameters<typeof transaction>);
			} as typeof transaction;
			await put(3n);
			IDBDatabase.prototype.transaction = transaction;
			return { afterDelete, rows: await rows(), calls: closings };
		});
		expect(seen).toEqual({ afterDelete: undefined, rows: ['2', '3'], calls: 2 });
	});

	it('offsets at 2^53+1, 2^63 and the last ones below 2^64 survive frame, core, facade, IndexedDB and a reload', async () => {
		const first = [2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 4n];
		for (const [index, offset] of first.entries()) {
			const topic = `${name}-far-${index}`;
			await server.faults.apply({ kind: 'base_offset', stream: STREAM, topic, offset });
			await createTopic(server, STREAM, topic);
			await append(server, STREAM, topic, 2);
			const setup: JournalSetup = { ws: server.ws, stream: STREAM, topic, name: topic };
			const read = () =>
				page.run(async (given) => {
					const opened = await journal.open(given);
					for await (const batch of opened.watcher) await batch.commit(opened.rowsOf(batch));
					return {
						rows: await opened.rows(),
						next: String(opened.watcher.position.get(0)),
						gaps: opened.gaps,
					};
				}, setup);
			const rows = [`0:${offset}`, `0:${offset + 1n}`];
			expect(await read()).toMatchObject({ rows, next: String(offset + 2n), gaps: [] });
			await page.reload();
			expect(await read()).toEqual({ rows, next: String(offset + 2n), gaps: [] });
			await append(server, STREAM, topic, 1);
			await page.reload();
			expect(await read()).toEqual({
				rows: [...rows, `0:${offset + 2n}`],
				next: String(offset + 3n),
				gaps: [],
			});
		}
	});

	it('a partition read to the last offset that there can be has nothing more after a reload', async () => {
		const topic = `${name}-exhausted`;
		await server.faults.apply({ kind: 'base_offset', stream: STREAM, topic, offset: 2n ** 64n - 2n });
		await createTopic(server, STREAM, topic);
		await append(server, STREAM, topic, 2);
		const read = () =>
			page.run(
				async (given) => {
					const opened = await journal.open(given);
					let count = 0;
					for await (const batch of opened.watcher) {
						count += batch.columns.count;
						await batch.commit();
					}
					return { count, next: String(opened.watcher.position.get(0)), gaps: opened.gaps };
				},
				{ ws: server.ws, stream: STREAM, topic, name: topic } satisfies JournalSetup,
			);
		expect(await read()).toEqual({ count: 2, next: String(2n ** 64n - 1n), gaps: [] });
		await page.reload();
		expect(await read()).toEqual({ count: 0, next: String(2n ** 64n - 1n), gaps: [] });
	});
});

describe('no room, in chromium', () => {
	let browser: Awaited<ReturnType<typeof launchChromium>>;
	beforeAll(async () => {
		browser = await launchChromium();
	});
	afterAll(() => browser?.close());
	afterEach(() => server.faults.clear());

	it('reading goes on unstored and says so; when there is room again it restarts at the last stored position', async () => {
		await createTopic(server, STREAM, 'full');
		await append(server, STREAM, 'full', 10);
		const page = await browser.context.newPage();
		await page.goto(server.http);
		await page.waitForFunction(() => document.title === 'ready');
		const devtools = await browser.context.newCDPSession(page);
		// Before the first write: what room there is, is remembered for a while.
		await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.http, quotaSize: 2 << 20 });
		const setup: JournalSetup = { ws: server.ws, stream: STREAM, topic: 'full', name: 'full' };
		await page.evaluate(async (given) => {
			const opened = await journal.open(given);
			const seen: { offset: string; persistent: boolean; persisted: boolean }[] = [];
			Object.assign(globalThis, { seen });
			void (async () => {
				for await (const batch of opened.watcher.follow({ intervalMs: 20 })) {
					const { persisted } = await batch.commit((transaction) => {
						opened.rowsOf(batch)(transaction);
						// More than there is room for.
						const rows = transaction.objectStore('rows');
						if (Reflect.get(globalThis, 'ballast')) {
							for (let i = 0; i < 64; i++) {
								const noise = new Uint8Array(65_536);
								crypto.getRandomValues(noise);
								rows.put(noise, `noise-${i}`);
							}
						}
					});
					for (const record of batch.changes) {
						seen.push({ offset: String(record.offset), persistent: batch.persistent, persisted });
					}
				}
			})().catch((error) => opened.failures.push(String(error)));
		}, setup);
		type Seen = { offset: string; persistent: boolean; persisted: boolean };
		const seen = async (count: number): Promise<Seen[]> => {
			await page.waitForFunction((wanted) => Reflect.get(globalThis, 'seen').length >= wanted, count);
			return page.evaluate(() => Reflect.get(globalThis, 'seen') as Seen[]);
		};
		expect((await seen(10)).every((one) => one.persistent && one.persisted)).toBe(true);

		await page.evaluate(() => Object.assign(globalThis, { ballast: true }));
		await append(server, STREAM, 'full', 5);
		const lost = (await seen(15)).slice(10);
		// The commit that found no room, and what came after it.
		expect(lost.map((one) => one.persisted)).toEqual([false, false, false, false, false]);
		expect(await page.evaluate(() => journal.current.persistence)).toEqual(['lost']);
		await append(server, STREAM, 'full', 5);
		const unstored = (await seen(20)).slice(15);
		expect(unstored.every((one) => !one.persistent && !one.persisted)).toBe(true);
		expect(await page.evaluate(() => journal.current.watcher.persistence)).toBe('lost');

		// What is stored meanwhile is what was stored before.
		await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.http });
		await page.evaluate(() => Object.assign(globalThis, { ballast: false }));
		const rows = await page.evaluate(() => journal.current.rowsAtLeast(20, 60_000));
		expect(rows).toEqual(range(0, 20));
		expect(await page.evaluate(() => journal.current.persistence)).toEqual(['lost', 'persistent']);
		expect((await seen(30)).slice(20).map((one) => [one.offset, one.persisted])).toEqual(
			Array.from({ length: 10 }, (_, i) => [String(10 + i), true]),
		);
		expect(await page.evaluate(() => journal.current.failures)).toEqual([]);
		await page.close();
	});
});
