import { IDBDatabase as FakeDatabase, IDBObjectStore as FakeObjectStore, IDBFactory } from 'fake-indexeddb';
import 'fake-indexeddb/auto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../../js/errors/index.js';
import { installStores } from '../../../js/storage/idb-transaction.js';
import { IndexedDbStore, type OwnDatabaseOptions } from '../../../js/storage/indexed-db-store.js';
import type { StoredPosition } from '../../../js/storage/store.js';
import { type StoreUnderTest, storeConformance } from './conformance.js';

const runner = {
	test: (name: string, body: () => Promise<void>) => void it(name, body),
	equal: (actual: unknown, expected: unknown) => expect(actual).toEqual(expected),
};

const key = { scope: 'default', name: 'orders' };
const rows: OwnDatabaseOptions = { upgrade: (database) => database.createObjectStore('rows') };

function position(next: bigint): StoredPosition {
	return {
		positions: new Map([[0, next]]),
		identity: undefined,
		epoch: 1,
		updatedAt: 1,
		source: { content: 'changes', stream: '_agdx', topic: 'changes' },
	};
}

const put = (
	store: IndexedDbStore,
	next: bigint,
	write?: (transaction: IDBTransaction) => unknown,
): Promise<void> => store.update(key, () => ({ put: position(next) }), write);

const next = async (store: IndexedDbStore): Promise<bigint | undefined> =>
	(await store.read(key))?.positions.get(0);

function asked<T>(request: IDBRequest<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
}

function open(
	name: string,
	version?: number,
	upgrade?: (database: IDBDatabase) => void,
): Promise<IDBDatabase> {
	return new Promise((resolve, reject) => {
		const request = indexedDB.open(name, version);
		request.onupgradeneeded = () => upgrade?.(request.result);
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
}

function row(store: IndexedDbStore, name: string): Promise<unknown> {
	return store.transaction(['rows'], 'readonly', (transaction) =>
		asked(transaction.objectStore('rows').get(name)),
	);
}

beforeEach(() => {
	vi.restoreAllMocks();
	globalThis.indexedDB = new IDBFactory();
});

const rowAccess: Pick<StoreUnderTest<IDBTransaction>, 'putRow' | 'getRow'> = {
	putRow: (transaction, name, value) => asked(transaction.objectStore('rows').put(value, name)),
	getRow: async (store, bound, name) => {
		(store as IndexedDbStore).bind(bound);
		return row(store as IndexedDbStore, name);
	},
};

describe('a database of its own per durable name', () => {
	storeConformance<IDBTransaction>(runner, { open: async () => new IndexedDbStore(rows), ...rowAccess });

	it('is called tidemark:<scope>:<name>, and a colon in a scope cannot reach another', async () => {
		await new IndexedDbStore().update({ scope: 'a:b', name: 'c' }, () => ({ put: position(1n) }));
		await new IndexedDbStore().update({ scope: 'a', name: 'orders' }, () => ({ put: position(2n) }));
		const names = (await indexedDB.databases()).map((one) => one.name).sort();
		expect(names).toEqual(['tidemark:a%3Ab:c', 'tidemark:a:orders']);
		await new IndexedDbStore().clear('a');
		expect((await indexedDB.databases()).map((one) => one.name)).toEqual(['tidemark:a%3Ab:c']);
	});

	it('clear deletes rows and all, while open in another store', async () => {
		const other = new IndexedDbStore(rows);
		await put(other, 1n, (transaction) => transaction.objectStore('rows').put('secret', 'x'));
		await new IndexedDbStore(rows).clear('default');
		expect(await indexedDB.databases()).toEqual([]);
		expect(await next(other)).toBeUndefined();
	});
});

describe('one named database for all watchers of a store', () => {
	storeConformance<IDBTransaction>(runner, {
		open: async () => new IndexedDbStore({ name: 'shared', ...rows }),
		...rowAccess,
	});
});

describe('the application’s own database', () => {
	const openApp = () =>
		open('app', 1, (database) => {
			installStores(database);
			database.createObjectStore('rows');
		});
	storeConformance<IDBTransaction>(runner, {
		open: async () => new IndexedDbStore({ open: openApp, stores: ['rows'] }),
		...rowAccess,
	});

	it('is never closed or deleted by us, and its rows stay when a scope is cleared', async () => {
		const database = await openApp();
		const close = vi.spyOn(database, 'close');
		const store = new IndexedDbStore({ open: async () => database, stores: ['rows'] });
		await put(store, 1n, (transaction) => transaction.objectStore('rows').put('mine', 'x'));
		await store.clear('default');
		expect(await next(store)).toBeUndefined();
		expect(await row(store, 'x')).toBe('mine');
		expect(close).not.toHaveBeenCalled();
		expect((await indexedDB.databases()).length).toBe(1);
	});

	it('is opened again through `open` when its connection was lost', async () => {
		const opens = vi.fn(openApp);
		const store = new IndexedDbStore({ open: opens, stores: ['rows'] });
		await put(store, 1n);
		(await opens.mock.results[0]!.value).close();
		await put(store, 2n);
		expect(opens).toHaveBeenCalledTimes(2);
		expect(await next(store)).toBe(2n);
	});

	it('without installStores says so', async () => {
		const store = new IndexedDbStore({ open: () => open('plain', 1), stores: [] });
		await expect(store.read(key)).rejects.toThrow(/installStores/);
	});
});

describe('faults', () => {
	it('a closing connection is opened again once, and the whole transaction repeated', async () => {
		const store = new IndexedDbStore(rows);
		await put(store, 1n);
		const transaction = FakeDatabase.prototype.transaction;
		let failures = 1;
		vi.spyOn(FakeDatabase.prototype, 'transaction').mockImplementation(function (
			this: InstanceType<typeof FakeDatabase>,
			...args
		) {
			if (failures-- > 0) throw new DOMException('The database connection is closing.', 'InvalidStateError');
			return transaction.apply(this, args as Parameters<typeof transaction>);
		});
		let runs = 0;
		await put(store, 2n, (one) => {
			runs += 1;
			one.objectStore('rows').put(2, 'a');
		});
		expect(runs).toBe(1);
		expect(await next(store)).toBe(2n);
	});

	it('a connection that closes for ever is a retryable StorageError after one more try', async () => {
		const store = new IndexedDbStore(rows);
		await put(store, 1n);
		const spy = vi.spyOn(FakeDatabase.prototype, 'transaction').mockImplementation(() => {
			throw new DOMException('The database connection is closing.', 'InvalidStateError');
		});
		await expect(put(store, 2n)).rejects.toMatchObject({
			kind: 'storage',
			reason: 'closed',
			retryable: true,
		});
		expect(spy).toHaveBeenCalledTimes(2);
	});

	it('no room at put is a quota error and writes nothing', async () => {
		const store = new IndexedDbStore(rows);
		await put(store, 1n);
		vi.spyOn(FakeObjectStore.prototype, 'put').mockImplementation(() => {
			throw new DOMException('full', 'QuotaExceededError');
		});
		await expect(put(store, 2n)).rejects.toMatchObject({ reason: 'quota' });
		vi.restoreAllMocks();
		expect(await next(store)).toBe(1n);
	});

	it('no room at commit, told by abort alone, is not acknowledged', async () => {
		const store = new IndexedDbStore(rows);
		await put(store, 1n);
		const failing = put(store, 2n, (transaction) => {
			transaction.objectStore('rows').put('x', 'a');
			Object.defineProperty(transaction, 'error', { value: new DOMException('full', 'QuotaExceededError') });
			queueMicrotask(() => transaction.abort());
		});
		await expect(failing).rejects.toMatchObject({ reason: 'quota' });
		expect(await next(store)).toBe(1n);
		expect(await row(store, 'a')).toBeUndefined();
	});

	it('evict frees room for one more try', async () => {
		let isFull = true;
		const original = FakeObjectStore.prototype.put;
		const store = new IndexedDbStore({
			...rows,
			evict: async () => {
				isFull = false;
				return true;
			},
		});
		vi.spyOn(FakeObjectStore.prototype, 'put').mockImplementation(function (
			this: InstanceType<typeof FakeObjectStore>,
			...args
		) {
			if (isFull) throw new DOMException('full', 'QuotaExceededError');
			return original.apply(this, args as Parameters<typeof original>);
		});
		await put(store, 2n);
		expect(await next(store)).toBe(2n);
	});

	it('an error of the application’s own is passed on as it is, and not repeated', async () => {
		const store = new IndexedDbStore(rows);
		const write = vi.fn((transaction: IDBTransaction) => transaction.objectStore('typo'));
		await expect(put(store, 1n, write)).rejects.toMatchObject({ name: 'NotFoundError' });
		expect(write).toHaveBeenCalledTimes(1);
		expect(await next(store)).toBeUndefined();
	});

	it('gives way to a newer version in another tab, and opens what is there afterwards', async () => {
		const old = new IndexedDbStore(rows);
		await put(old, 1n);
		const newer = new IndexedDbStore({
			version: 2,
			upgrade: (database) => {
				if (!database.objectStoreNames.contains('rows')) database.createObjectStore('rows');
				if (!database.objectStoreNames.contains('more')) database.createObjectStore('more');
			},
		});
		await put(newer, 2n);
		// The older application again, as after a roll-back: stores were only added.
		expect(await next(old)).toBe(2n);
		await put(old, 3n);
		expect(await next(newer)).toBe(3n);
	});

	it('a newer database that lacks a store is a version error', async () => {
		(await open('tidemark:default:orders', 5, installStores)).close();
		const store = new IndexedDbStore({ stores: ['rows'], version: 1 });
		await expect(put(store, 1n)).rejects.toMatchObject({ reason: 'version', retryable: false });
	});

	it('a blocked upgrade is a retryable error in time, and a late success is closed', async () => {
		const holder = await open('tidemark:default:orders', 1, installStores);
		const store = new IndexedDbStore({ version: 2, blockedTimeoutMs: 50 });
		await expect(store.read(key)).rejects.toMatchObject({ reason: 'blocked', retryable: true });
		holder.close();
		await new Promise((resolve) => setTimeout(resolve, 50));
		await put(store, 1n);
		expect(await next(store)).toBe(1n);
	});

	it('a refused open (private mode) is unavailable, and works when it is allowed later', async () => {
		const store = new IndexedDbStore(rows);
		const spy = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
			throw new DOMException('denied', 'SecurityError');
		});
		await expect(store.read(key)).rejects.toMatchObject({ reason: 'unavailable' });
		spy.mockRestore();
		await put(store, 1n);
		expect(await next(store)).toBe(1n);
	});

	it('without IndexedDB every call is a StorageError and making a store is none', async () => {
		const kept = globalThis.indexedDB;
		Reflect.deleteProperty(globalThis, 'indexedDB');
		const store = new IndexedDbStore(rows);
		await expect(store.read(key)).rejects.toBeInstanceOf(StorageError);
		globalThis.indexedDB = kept;
	});

	it('opens one connection however many calls come at once', async () => {
		const spy = vi.spyOn(indexedDB, 'open');
		const store = new IndexedDbStore(rows);
		await Promise.all([put(store, 1n), put(store, 2n), store.read(key)]);
		expect(spy).toHaveBeenCalledTimes(1);
	});
});

describe('a commit function that awaits something foreign', () => {
	it('briefly: rows and position are still one', async () => {
		const store = new IndexedDbStore(rows);
		await put(store, 1n, async (transaction) => {
			transaction.objectStore('rows').put('before', 'a');
			await new Promise((resolve) => setTimeout(resolve, 30));
		});
		expect(await next(store)).toBe(1n);
		expect(await row(store, 'a')).toBe('before');
	});

	it('for ever: nothing is written and the reason is named', async () => {
		const store = new IndexedDbStore(rows);
		const stuck = put(store, 1n, async (transaction) => {
			transaction.objectStore('rows').put('before', 'a');
			await new Promise(() => {});
		});
		await expect(stuck).rejects.toThrow(/own requests/);
		expect(await next(store)).toBeUndefined();
		expect(await row(store, 'a')).toBeUndefined();
	});
});
