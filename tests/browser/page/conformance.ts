// The promises of every store, run on the browser's own IndexedDB.
import { IndexedDbStore, installStores, type Store, type StoreKey } from 'tidemark';
import { storeConformance } from '../../js/storage/conformance.js';
import { equal } from '../../js/storage/equal.js';

export const KINDS = [
	'a database per durable name',
	'one named database',
	'the application’s database',
] as const;
export type Kind = (typeof KINDS)[number];

const createRows = (database: IDBDatabase): void => {
	database.createObjectStore('rows');
};

function asked<T>(request: IDBRequest<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
}

function openApplication(name: string): Promise<IDBDatabase> {
	const request = indexedDB.open(name, 1);
	request.onupgradeneeded = () => {
		installStores(request.result);
		createRows(request.result);
	};
	return asked(request).then((database) => {
		database.addEventListener('versionchange', () => database.close());
		return database;
	});
}

const stores: Record<Kind, (place: string) => IndexedDbStore> = {
	'a database per durable name': () => new IndexedDbStore({ upgrade: createRows }),
	'one named database': (place) => new IndexedDbStore({ name: place, upgrade: createRows }),
	'the application’s database': (place) =>
		new IndexedDbStore({ open: () => openApplication(`app-${place}`), stores: ['rows'] }),
};

async function deleteEverything(): Promise<void> {
	for (const { name } of await indexedDB.databases()) {
		if (name !== undefined) await asked(indexedDB.deleteDatabase(name));
	}
}

function bodies(kind: Kind): Map<string, () => Promise<void>> {
	const found = new Map<string, () => Promise<void>>();
	storeConformance<IDBTransaction>(
		{ test: (name, body) => void found.set(name, body), equal },
		{
			open: async (place) => stores[kind](place),
			putRow: (transaction, key, value) => asked(transaction.objectStore('rows').put(value, key)),
			getRow: (store: Store<IDBTransaction>, key: StoreKey, row: string) => {
				const opened = store as IndexedDbStore;
				opened.bind(key);
				return opened.transaction(['rows'], 'readonly', (transaction) =>
					asked(transaction.objectStore('rows').get(row)),
				);
			},
		},
	);
	return found;
}

/** Runs one test of the suite on storage that is empty. Throws what the test throws. */
export async function run(kind: Kind, name: string): Promise<void> {
	const body = bodies(kind).get(name);
	if (body === undefined) throw new Error(`no test ${name}`);
	await deleteEverything();
	await body();
}
