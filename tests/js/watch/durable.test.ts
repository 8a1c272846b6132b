import { IDBDatabase as FakeDatabase, IDBFactory } from 'fake-indexeddb';
import 'fake-indexeddb/auto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConnectOptions } from '../../../js/connect/options.js';
import {
	CancelledError,
	ConfigError,
	HistoryLostError,
	InvalidError,
	PositionConflictError,
	StorageError,
	UnsupportedError,
} from '../../../js/errors/index.js';
import { IndexedDbStore } from '../../../js/storage/indexed-db-store.js';
import { MemoryStore } from '../../../js/storage/memory-store.js';
import { Topic } from '../../../js/topic/topic.js';
import type { Batch } from '../../../js/watch/batch.js';
import type { DurableOptions, DurableWatcher } from '../../../js/watch/durable.js';
import { Watch } from '../../../js/watch/watch.js';
import type { ChangeRecord } from '../../../js/watch/watch-reader.js';
import type { FakeCore } from '../support/fake-core.js';
import { connected, countedSignal, MANAGED, settled } from '../support/world.js';

type Watcher = DurableWatcher<ChangeRecord>;

const rows = () => new IndexedDbStore({ upgrade: (database) => void database.createObjectStore('rows') });

async function setUp(
	offsets: readonly bigint[] = [0n, 1n, 2n, 3n, 4n],
	options: DurableOptions<IndexedDbStore> = {},
	connect: ConnectOptions = {},
) {
	const { core, context } = await connected(connect);
	core.append(...offsets);
	core.batchSize = 2;
	const store = options.store ?? rows();
	const make = (more: DurableOptions<IndexedDbStore> = {}): Watcher =>
		new Watch(context).index('orders_v1').durable('orders', { ...options, store, ...more });
	return { core, context, store, make, watcher: make() };
}

const offsetsOf = (batch: Batch<ChangeRecord>): bigint[] => batch.changes.map((change) => change.fromOffset);

/** Serves a read that waits, as if the interval had passed. */
function poll(
	core: FakeCore,
	watcher: { offsetForTime: unknown },
	context: { driver: { resume(r: string): void } },
): void {
	void watcher;
	for (const reader of core.readers.keys()) core.serve(reader);
	context.driver.resume('flush');
}

function stored(store: IndexedDbStore): Promise<bigint | undefined> {
	return store.read({ scope: 'default', name: 'orders' }).then((found) => found?.positions.get(0));
}

function writeRows(batch: Batch<ChangeRecord>): (transaction: IDBTransaction) => void {
	return (transaction) => {
		const table = transaction.objectStore('rows');
		// `add` fails on a row that is there: nothing may ever be applied twice.
		for (const change of batch.changes) table.add(change, String(change.fromOffset));
	};
}

function rowKeys(store: IndexedDbStore): Promise<string[]> {
	return store.transaction(['rows'], 'readonly', (transaction) => {
		const request = transaction.objectStore('rows').getAllKeys();
		return new Promise<string[]>((resolve) => {
			request.onsuccess = () => resolve(request.result as string[]);
		});
	});
}

beforeEach(() => {
	globalThis.indexedDB = new IDBFactory();
});
afterEach(() => {
	vi.restoreAllMocks();
	vi.useRealTimers();
});

describe('for await', () => {
	it('delivers everything in order and ends when caught up', async () => {
		const { watcher } = await setUp();
		const seen: bigint[][] = [];
		for await (const batch of watcher) seen.push(offsetsOf(batch));
		expect(seen).toEqual([[0n, 1n], [2n, 3n], [4n]]);
		expect(watcher.state).toBe('stopped');
	});

	it('asking for the next batch commits the last one', async () => {
		const { watcher, store } = await setUp();
		const before: (bigint | undefined)[] = [];
		for await (const _ of watcher) before.push(await stored(store));
		expect(before).toEqual([undefined, 2n, 4n]);
		expect(await stored(store)).toBe(5n);
	});

	it('break does not commit: the batch comes again', async () => {
		const { watcher, store } = await setUp();
		for await (const batch of watcher) {
			if (offsetsOf(batch)[0] === 2n) break;
		}
		expect(await stored(store)).toBe(2n);
		const seen: bigint[][] = [];
		for await (const batch of watcher) seen.push(offsetsOf(batch));
		expect(seen).toEqual([[2n, 3n], [4n]]);
	});

	it('an exception in the loop does not commit', async () => {
		const { watcher, store } = await setUp();
		const loop = async () => {
			for await (const _ of watcher) throw new Error('handler');
		};
		await expect(loop()).rejects.toThrow('handler');
		expect(await stored(store)).toBeUndefined();
		expect(watcher.state).toBe('stopped');
	});

	it('a restart of the application goes on after the last commit', async () => {
		const { core, context, watcher } = await setUp();
		for await (const _ of watcher);
		core.append(5n);
		const again = new Watch(context).index('orders_v1').durable('orders', { store: rows() });
		const seen: bigint[][] = [];
		for await (const batch of again) seen.push(offsetsOf(batch));
		expect(seen).toEqual([[5n]]);
	});

	it('frees the reader and leaves no listener on the signal, on every way out', async () => {
		const { core, watcher } = await setUp();
		const { signal, listeners } = countedSignal();
		for await (const _ of watcher.follow({ signal })) break;
		expect(core.readers.size).toBe(0);
		expect(listeners()).toBe(0);
	});

	it('one iteration at a time', async () => {
		const { watcher } = await setUp();
		const first = watcher[Symbol.asyncIterator]();
		await first.next();
		await expect(watcher[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(InvalidError);
		await first.return();
		expect((await watcher[Symbol.asyncIterator]().next()).done).toBe(false);
	});

	it('a failed read rejects next, moves nothing, and the next loop gets everything', async () => {
		const { core, watcher, store } = await setUp();
		core.failRead = { kind: 'timeout', message: 'no answer' };
		await expect(watcher[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'timeout' });
		expect(await stored(store)).toBeUndefined();
		const seen: bigint[][] = [];
		for await (const batch of watcher) seen.push(offsetsOf(batch));
		expect(seen.flat()).toEqual([0n, 1n, 2n, 3n, 4n]);
	});

	it('needs the capability, named in the error', async () => {
		const { context } = await connected({}, { ...MANAGED, watch: false });
		const watcher = new Watch(context).durable('x', { store: new MemoryStore() });
		await expect(watcher[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(UnsupportedError);
	});
});

describe('commit', () => {
	it('writes rows and position in one transaction', async () => {
		const { watcher, store } = await setUp();
		for await (const batch of watcher) {
			expect(batch.persistent).toBe(true);
			expect(await batch.commit(writeRows(batch))).toEqual({ persisted: true });
		}
		expect(await rowKeys(store)).toEqual(['0', '1', '2', '3', '4']);
		expect(await stored(store)).toBe(5n);
	});

	it('is the same commit when called again', async () => {
		const { watcher, store } = await setUp();
		for await (const batch of watcher) {
			await Promise.all([batch.commit(writeRows(batch)), batch.commit(writeRows(batch))]);
		}
		expect((await rowKeys(store)).length).toBe(5);
	});

	it('a commit function that fails keeps rows and position, and the batch comes again', async () => {
		const { watcher, store } = await setUp([0n, 1n]);
		let attempts = 0;
		for await (const batch of watcher) {
			attempts += 1;
			await batch
				.commit((transaction) => {
					writeRows(batch)(transaction);
					if (attempts === 1) throw new Error('no');
				})
				.catch(() => {});
		}
		expect(attempts).toBe(2);
		expect(await rowKeys(store)).toEqual(['0', '1']);
	});

	it('of two tabs without Web Locks, a batch of one position is applied once', async () => {
		const { context, make } = await setUp();
		const one = make();
		const other = new Watch(context).index('orders_v1').durable('orders', { store: rows() });
		const [first, second] = [one[Symbol.asyncIterator](), other[Symbol.asyncIterator]()];
		const a = (await first.next()).value as Batch<ChangeRecord>;
		const b = (await second.next()).value as Batch<ChangeRecord>;
		expect(offsetsOf(a)).toEqual(offsetsOf(b));
		await a.commit(writeRows(a));
		await expect(b.commit(writeRows(b))).rejects.toBeInstanceOf(PositionConflictError);
		// The loser reads on from where the winner is.
		expect(offsetsOf((await second.next()).value as Batch<ChangeRecord>)).toEqual([2n, 3n]);
	});

	it('two tabs that race to the end write every row once and lose none', async () => {
		const offsets = Array.from({ length: 60 }, (_, index) => BigInt(index));
		const { context, store, make } = await setUp(offsets);
		const other = new Watch(context).index('orders_v1').durable('orders', { store: rows() });
		const race = async (watcher: Watcher): Promise<void> => {
			for (;;) {
				try {
					for await (const batch of watcher) await batch.commit(writeRows(batch));
					return;
				} catch (error) {
					if (!(error instanceof PositionConflictError)) throw error;
				}
			}
		};
		await Promise.all([race(make()), race(other)]);
		expect((await rowKeys(store)).length).toBe(60);
		expect(await stored(store)).toBe(60n);
	});

	it('an automatic commit that conflicts rejects that next()', async () => {
		const { context, make } = await setUp();
		const one = make()[Symbol.asyncIterator]();
		const other = new Watch(context)
			.index('orders_v1')
			.durable('orders', { store: rows() })
			[Symbol.asyncIterator]();
		await one.next();
		await other.next();
		await one.next();
		await expect(other.next()).rejects.toBeInstanceOf(PositionConflictError);
	});

	it('a store that was wiped while running is a first run again', async () => {
		const { watcher, store } = await setUp();
		const iterator = watcher[Symbol.asyncIterator]();
		await iterator.next();
		await iterator.next();
		expect(await stored(store)).toBe(2n);
		await store.clear('default');
		await expect(iterator.next()).rejects.toBeInstanceOf(PositionConflictError);
		const seen: bigint[][] = [];
		for await (const batch of watcher) seen.push(offsetsOf(batch));
		expect(seen.flat()).toEqual([0n, 1n, 2n, 3n, 4n]);
	});

	it('offsets up to 2^64-1 survive commit and reload', async () => {
		const top = 2n ** 64n - 2n;
		const { watcher, store, make } = await setUp([2n ** 53n + 1n, 2n ** 63n, top]);
		for await (const _ of watcher);
		expect(await stored(store)).toBe(2n ** 64n - 1n);
		expect(make().position.size).toBe(0);
		for await (const _ of make());
		expect(watcher.position.get(0)).toBe(2n ** 64n - 1n);
	});

	it('the durable name of another source is refused, naming both', async () => {
		const { context, watcher } = await setUp();
		for await (const _ of watcher);
		const other = new Watch(context).index('customers').durable('orders', { store: rows() });
		await expect(other[Symbol.asyncIterator]().next()).rejects.toThrow(/orders_v1.*customers/);
	});
});

describe('follow', () => {
	it('goes on, at a fixed interval, until it is aborted', async () => {
		const { core, context, watcher } = await setUp([0n]);
		const { signal, abort, listeners } = countedSignal();
		const iterator = watcher.follow({ signal, intervalMs: 50 });
		expect(offsetsOf((await iterator.next()).value as Batch<ChangeRecord>)).toEqual([0n]);
		const waiting = iterator.next();
		await settled();
		expect(core.named('read').at(-1)![1]).toEqual({ waitMs: 50 });
		expect(watcher.state).toBe('idle');
		core.append(1n);
		poll(core, watcher, context);
		expect(offsetsOf((await waiting).value as Batch<ChangeRecord>)).toEqual([1n]);
		const last = iterator.next();
		abort();
		await expect(last).rejects.toBeInstanceOf(CancelledError);
		expect(listeners()).toBe(0);
		expect(core.readers.size).toBe(0);
	});

	it('an abort while a batch is handled commits nothing', async () => {
		const { watcher, store } = await setUp();
		const abort = new AbortController();
		const loop = async () => {
			for await (const _ of watcher.follow({ signal: abort.signal })) abort.abort();
		};
		await expect(loop()).rejects.toBeInstanceOf(CancelledError);
		expect(await stored(store)).toBeUndefined();
	});

	it('one request at a time', async () => {
		const { core, watcher } = await setUp();
		const iterator = watcher.follow();
		await iterator.next();
		await settled();
		expect(core.named('read').length).toBe(1);
		await iterator.return();
	});

	it('waits out failures that may pass, and ends with those that do not', async () => {
		const { core, watcher } = await setUp();
		core.failRead = { kind: 'transport', message: 'cut', retryable: true };
		const iterator = watcher.follow();
		expect(offsetsOf((await iterator.next()).value as Batch<ChangeRecord>)).toEqual([0n, 1n]);
		core.failRead = { kind: 'command', message: 'no', code: 41 };
		await expect(iterator.next()).rejects.toMatchObject({ kind: 'command' });
	});

	it('from now: the place is fixed at once, so that a reload loses nothing in between', async () => {
		const { core, watcher, store, make } = await setUp([0n, 1n], { from: 'now' });
		const abort = new AbortController();
		const waiting = watcher.follow({ signal: abort.signal }).next();
		waiting.catch(() => {});
		await settled();
		expect(await stored(store)).toBe(2n);
		abort.abort();
		await settled();
		core.append(2n);
		const seen: bigint[][] = [];
		for await (const batch of make()) seen.push(offsetsOf(batch));
		expect(seen).toEqual([[2n]]);
	});

	it('seek inside the loop reads again from there; the batch at hand is void', async () => {
		const { core, watcher } = await setUp();
		core.answer = (name) => (name === 'offsetForTime' ? [[0, 0n]] : undefined);
		const seen: bigint[][] = [];
		for await (const batch of watcher) {
			seen.push(offsetsOf(batch));
			if (seen.length === 2) {
				await watcher.seek('beginning');
				await expect(batch.commit()).rejects.toBeInstanceOf(PositionConflictError);
			}
		}
		expect(seen).toEqual([[0n, 1n], [2n, 3n], [0n, 1n], [2n, 3n], [4n]]);
	});

	it('forget while it waits begins again', async () => {
		const { watcher, store } = await setUp([0n]);
		const iterator = watcher.follow();
		await iterator.next();
		const waiting = iterator.next();
		await settled();
		expect(await stored(store)).toBe(1n);
		await watcher.forget();
		expect(offsetsOf((await waiting).value as Batch<ChangeRecord>)).toEqual([0n]);
		await iterator.return();
	});
});

describe('readable', () => {
	it('reads one batch for each that is pulled, none ahead', async () => {
		const { core, watcher } = await setUp();
		const stream = watcher.readable();
		await settled();
		expect(core.named('read').length).toBe(0);
		const reader = stream.getReader();
		await reader.read();
		await settled();
		expect(core.named('read').length).toBe(1);
		await reader.cancel();
		expect(core.readers.size).toBe(0);
	});

	it('reading commits nothing; commits are in order', async () => {
		const { watcher, store } = await setUp();
		const reader = watcher.readable().getReader();
		const [first, second, third] = [
			(await reader.read()).value!,
			(await reader.read()).value!,
			(await reader.read()).value!,
		];
		expect(await stored(store)).toBeUndefined();
		await expect(second.commit()).rejects.toBeInstanceOf(InvalidError);
		await Promise.all([first.commit(writeRows(first)), third.commit().catch(() => {})]);
		expect(await stored(store)).toBe(2n);
		await reader.cancel();
	});

	it('many commits at once happen one after another', async () => {
		const { watcher, store } = await setUp();
		const reader = watcher.readable().getReader();
		const batches = [
			(await reader.read()).value!,
			(await reader.read()).value!,
			(await reader.read()).value!,
		];
		await Promise.all(batches.map((batch) => batch.commit(writeRows(batch))));
		expect(await stored(store)).toBe(5n);
		expect((await rowKeys(store)).length).toBe(5);
		await reader.cancel();
	});

	it('abort errors the stream', async () => {
		const { watcher } = await setUp([]);
		const abort = new AbortController();
		const reading = watcher.readable({ signal: abort.signal }).getReader().read();
		await settled();
		abort.abort();
		await expect(reading).rejects.toBeInstanceOf(CancelledError);
	});
});

describe('gaps', () => {
	it('come first, as event and on the batch, with partition, asked and first available offset', async () => {
		const { core, watcher, make } = await setUp();
		for await (const _ of watcher);
		core.append(100n, 101n);
		core.start = 100n;
		const again = make();
		const order: string[] = [];
		again.addEventListener('gap', ({ gap }) =>
			order.push(`gap ${gap.partitionId} ${gap.asked} ${gap.firstAvailable}`),
		);
		for await (const batch of again) {
			order.push(`batch ${offsetsOf(batch)} ${batch.gap?.asked} ${batch.gaps.length}`);
		}
		expect(order).toEqual(['gap 0 5 100', 'batch 100,101 5 1']);
		const later: string[] = [];
		for await (const batch of make()) later.push(String(batch.gap));
		expect(later).toEqual([]);
	});

	it('three resets at one position without getting past it are an error', async () => {
		const { core, watcher } = await setUp([]);
		core.start = 10n;
		core.append(10n);
		await watcher.seek(new Map([[0, 5n]]));
		const loop = async () => {
			for await (const batch of watcher) {
				await batch
					.commit(() => {
						throw new Error('handler');
					})
					.catch(() => {});
			}
		};
		await expect(loop()).rejects.toBeInstanceOf(HistoryLostError);
		expect(core.named('read').length).toBe(3);
	});
});

describe('storage that fails', () => {
	function breakStorage(): { mend(): void } {
		const spy = vi.spyOn(FakeDatabase.prototype, 'transaction').mockImplementation(() => {
			throw new DOMException('lost', 'InvalidStateError');
		});
		return { mend: () => spy.mockRestore() };
	}

	it('a damaged position ends the watcher before anything is read, and nothing starts anew in memory', async () => {
		const { watcher, store, core } = await setUp();
		vi.spyOn(store, 'read').mockRejectedValue(
			new StorageError('damaged', { reason: 'corrupted', retryable: false }),
		);
		const reading = (async () => {
			for await (const _ of watcher.follow()) throw new Error('something was read');
		})();
		await expect(reading).rejects.toMatchObject({ kind: 'storage', reason: 'corrupted' });
		expect(core.named('read')).toEqual([]);
		expect(watcher.persistence).toBe('persistent');
	});

	it('the feed goes on in memory: one event, commit does not call its function', async () => {
		const { watcher, store } = await setUp();
		const events: string[] = [];
		watcher.addEventListener('persistence', (event) =>
			events.push(`${event.persistence} ${event.error?.kind}`),
		);
		const seen: bigint[] = [];
		const calls: bigint[] = [];
		let broken: { mend(): void } | undefined;
		const flags: boolean[] = [];
		for await (const batch of watcher) {
			if (seen.length === 2) broken = breakStorage();
			seen.push(...offsetsOf(batch));
			flags.push(batch.persistent);
			const { persisted } = await batch.commit((transaction) => {
				calls.push(...offsetsOf(batch));
				writeRows(batch)(transaction);
			});
			expect(persisted).toBe(seen.length === 2);
		}
		broken?.mend();
		expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
		expect(flags).toEqual([true, true, false]);
		expect(events).toEqual(['lost storage']);
		expect(calls).toEqual([0n, 1n]);
		expect(await stored(store)).toBe(2n);
		expect(watcher.persistence).toBe('lost');
	});

	it('after recovery reading restarts at the last stored position, and every row is there once', async () => {
		const { watcher, store } = await setUp();
		const events: string[] = [];
		watcher.addEventListener('persistence', (event) => events.push(event.persistence));
		const seen: bigint[] = [];
		const iterator = watcher.follow();
		const take = async (): Promise<void> => {
			const batch = (await iterator.next()).value as Batch<ChangeRecord>;
			seen.push(...offsetsOf(batch));
			await batch.commit(writeRows(batch));
		};
		await take();
		const broken = breakStorage();
		await take();
		broken.mend();
		await vi.waitFor(() => expect(watcher.persistence).toBe('persistent'), { timeout: 5_000 });
		await take();
		await take();
		await iterator.return();
		expect(seen).toEqual([0n, 1n, 2n, 3n, 2n, 3n, 4n]);
		expect(events).toEqual(['lost', 'persistent']);
		expect(await rowKeys(store)).toEqual(['0', '1', '2', '3', '4']);
		expect(await stored(store)).toBe(5n);
	});

	it('storage refused from the start: the same, from the beginning', async () => {
		vi.spyOn(indexedDB, 'open').mockImplementation(() => {
			throw new DOMException('denied', 'SecurityError');
		});
		const { watcher } = await setUp();
		const seen: bigint[] = [];
		for await (const batch of watcher) {
			expect(batch.persistent).toBe(false);
			seen.push(...offsetsOf(batch));
		}
		expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
	});

	it('attempts to store again are as rare as their back-off', async () => {
		const { watcher } = await setUp();
		const iterator = watcher.follow();
		await iterator.next();
		const broken = vi.spyOn(FakeDatabase.prototype, 'transaction').mockImplementation(() => {
			throw new DOMException('lost', 'InvalidStateError');
		});
		await iterator.next();
		await iterator.next();
		expect(watcher.persistence).toBe('lost');
		const first = broken.mock.calls.length;
		await new Promise((resolve) => setTimeout(resolve, 1_500));
		// One attempt, which opens anew once.
		expect(broken.mock.calls.length - first).toBe(2);
		await iterator.return();
	});
});

describe('options and stores', () => {
	it('a token callback and a database that users share need a scope', async () => {
		const token = async () => 'secret';
		const { context } = await connected({ token });
		expect(() => new Watch(context).durable('x')).toThrow(ConfigError);
		expect(() => new Watch(context).durable('x', { store: new IndexedDbStore() })).toThrow(/scope/);
		expect(new Watch(context).durable('x', { store: new IndexedDbStore({ scope: 'u' }) }).name).toBe('x');
		expect(new Watch(context).durable('x', { store: new MemoryStore() }).name).toBe('x');
		const scoped = await connected({ token, scope: 'u1' });
		expect(new Watch(scoped.context).durable('x').name).toBe('x');
	});

	it('the scope of the connection names the database', async () => {
		const { watcher } = await setUp([0n], {}, { scope: 'u1' });
		for await (const _ of watcher);
		expect((await indexedDB.databases()).map((one) => one.name)).toEqual(['tidemark:u1:orders']);
	});

	it('a MemoryStore hands its own transactions to commit', async () => {
		const { core, context } = await connected();
		core.append(0n, 1n);
		const store = new MemoryStore();
		const watcher = new Watch(context).durable('orders', { store });
		for await (const batch of watcher) {
			expect(batch.persistent).toBe(false);
			const { persisted } = await batch.commit((transaction) => {
				for (const change of batch.changes) transaction.put('rows', change.fromOffset, change.rows);
			});
			expect(persisted).toBe(false);
		}
		expect([...store.rows('rows').keys()]).toEqual([0n, 1n]);
		expect(watcher.persistence).toBe('memory');
		expect((await store.list()).map((entry) => [entry.name, entry.positions.get(0)])).toEqual([
			['orders', 2n],
		]);
	});

	it('lag is the age of the last record handled, and absent while idle', async () => {
		const { watcher } = await setUp([0n, 1n, 2n]);
		expect(watcher.lag).toBeUndefined();
		const iterator = watcher.follow();
		await iterator.next();
		await iterator.next();
		expect(watcher.lag).toBeGreaterThanOrEqual(900);
		const waiting = iterator.next();
		waiting.catch(() => {});
		await settled();
		expect(watcher.state).toBe('idle');
		expect(watcher.lag).toBeUndefined();
		await watcher.forget();
		await waiting;
		await iterator.return();
	});

	it('idle and state are events', async () => {
		const { core, context, watcher } = await setUp([0n]);
		const seen: string[] = [];
		watcher.addEventListener('state', (event) => seen.push(event.state));
		watcher.addEventListener('idle', (event) => seen.push(`idle at ${event.position.get(0)}`));
		const iterator = watcher.follow();
		await iterator.next();
		const waiting = iterator.next();
		await settled();
		core.append(1n);
		poll(core, watcher, context);
		await waiting;
		await iterator.return();
		expect(seen).toEqual(['reading', 'idle', 'idle at 1', 'reading', 'stopped']);
	});
});

describe('Web Locks', () => {
	it('the second watcher of a name waits for its turn, and goes on after the first', async () => {
		const queue: (() => void)[] = [];
		let held = false;
		const locks = {
			request: (_: string, __: object, body: () => Promise<void>) => {
				const run = async (): Promise<void> => {
					held = true;
					await body();
					held = false;
					queue.shift()?.();
				};
				if (!held) return run();
				return new Promise<void>((resolve) => queue.push(() => resolve(run())));
			},
		};
		vi.stubGlobal('navigator', { locks });
		const { context, watcher, store } = await setUp();
		const first = watcher[Symbol.asyncIterator]();
		await first.next();
		const other = new Watch(context).index('orders_v1').durable('orders', { store: rows() });
		const waiting = other[Symbol.asyncIterator]().next();
		await settled();
		expect(other.state).toBe('waiting_for_turn');
		await first.next();
		await first.return();
		expect(offsetsOf((await waiting).value as Batch<ChangeRecord>)).toEqual([2n, 3n]);
		expect((await store.read({ scope: 'default', name: 'orders' }))?.epoch).toBe(2);
		vi.unstubAllGlobals();
	});
});

describe('beginning again', () => {
	it('an aborted stream that nobody pulls any more does not keep the name', async () => {
		const { watcher } = await setUp();
		const abort = new AbortController();
		const reader = watcher.readable({ signal: abort.signal }).getReader();
		expect(offsetsOf((await reader.read()).value!)).toEqual([0n, 1n]);
		abort.abort();
		const seen: bigint[] = [];
		for await (const batch of watcher) seen.push(...offsetsOf(batch));
		expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
		await expect(reader.read()).rejects.toBeInstanceOf(CancelledError);
	});

	it('seek takes no other word for a place', async () => {
		const { watcher, store } = await setUp();
		await expect(watcher.seek('later' as never)).rejects.toBeInstanceOf(InvalidError);
		expect(await stored(store)).toBeUndefined();
	});

	it('a seek that ends while an answer is on its way voids the answer', async () => {
		/** Its next update is done, and says so when it is told to. */
		class HeldStore extends MemoryStore {
			isHolding = false;
			release: (() => void) | undefined;

			override update(...args: Parameters<MemoryStore['update']>): Promise<void> {
				const updated = super.update(...args);
				if (!this.isHolding) return updated;
				this.isHolding = false;
				return new Promise((resolve) => {
					updated.then(() => {
						this.release = resolve;
					});
				});
			}
		}
		const { core, context } = await connected();
		core.append(0n, 1n, 2n, 3n, 4n);
		core.batchSize = 2;
		const store = new HeldStore();
		const watcher = new Watch(context).index('orders_v1').durable('orders', { store });
		const serve = core.serve.bind(core);
		core.serve = () => {};
		const iterator = watcher[Symbol.asyncIterator]();
		const first = iterator.next();
		await vi.waitFor(() => expect(core.named('read').length).toBe(1));
		store.isHolding = true;
		const seeking = watcher.seek(new Map([[0, 3n]]));
		await vi.waitFor(() => expect(store.release).toBeDefined());
		core.serve = serve;
		store.release?.();
		for (const id of core.readers.keys()) serve(id);
		context.driver.resume('flush');
		await seeking;
		expect((await first).value?.changes.map((change) => change.fromOffset)).toEqual([3n, 4n]);
		expect((await iterator.next()).done).toBe(true);
		expect((await store.read({ scope: 'default', name: 'orders' }))?.positions.get(0)).toBe(5n);
	});

	it('a seek while a schema is at work leaves no batch that blocks the ones after it', async () => {
		const { core, context } = await connected();
		core.append(0n, 1n, 2n, 3n);
		let release = (): void => {};
		const gate = new Promise<void>((resolve) => {
			release = resolve;
		});
		let validated = 0;
		const schema = {
			'~standard': {
				version: 1 as const,
				vendor: 'test',
				validate: async (value: unknown) => {
					validated += 1;
					await gate;
					return { value };
				},
			},
		};
		const watcher = new Topic(context, 's', 't').durable('records', { store: new MemoryStore(), schema });
		const seen: bigint[] = [];
		const reading = (async () => {
			for await (const batch of watcher) seen.push(...batch.changes.map((record) => record.offset));
		})();
		await vi.waitFor(() => expect(validated).toBe(1));
		await watcher.seek(new Map([[0, 2n]]));
		release();
		await reading;
		expect(seen).toEqual([2n, 3n]);
		expect(watcher.position.get(0)).toBe(4n);
	});

	it('a name that is no text and positions that are none are refused', async () => {
		const { make, context } = await setUp();
		for (const bad of ['', 5, undefined] as never[]) {
			expect(() => new Watch(context).durable(bad)).toThrow(ConfigError);
		}
		for (const from of [new Map([[0, 1]]), [-1n], {}, null] as never[]) {
			expect(() => make({ from })).toThrow(InvalidError);
		}
	});
});

describe('topics', () => {
	it('records that do not fit the schema are reported, left out and read past', async () => {
		const { core, context } = await connected();
		core.append(0n, 1n, 4n, 5n);
		const schema = {
			'~standard': {
				version: 1 as const,
				vendor: 'test',
				validate: (value: unknown) => {
					const { offset } = value as { offset: string };
					return offset === '1' ? { issues: [{ message: 'one is out' }] } : { value: { n: Number(offset) } };
				},
			},
		};
		const watcher = new Topic(context, 's', 't').durable('records', { store: new MemoryStore(), schema });
		const misfits: string[] = [];
		watcher.addEventListener('misfit', (event) =>
			misfits.push(`${event.offset}: ${event.issues[0]!.message}`),
		);
		const seen: number[] = [];
		for await (const batch of watcher) seen.push(...batch.changes.map((record) => record.value.n));
		expect(seen).toEqual([0, 5]);
		expect(misfits).toEqual(['1: one is out', '4: record 0:4: not JSON']);
		expect(watcher.position.get(0)).toBe(6n);
	});
});
