import { StorageError } from '../errors/index.js';
import { storageError } from './idb-failure.js';

/** Opens a database, or takes the one that the application opens. */
export interface DatabaseOpener {
	open(): Promise<IDBDatabase>;
	/** Is the database ours to close? */
	readonly owned: boolean;
}

/** One connection per database and tab, opened when it is needed and again after it was lost. */
export class DatabaseConnection {
	readonly #opener: DatabaseOpener;
	#open: Promise<IDBDatabase> | undefined;

	constructor(opener: DatabaseOpener) {
		this.#opener = opener;
	}

	get(): Promise<IDBDatabase> {
		this.#open ??= this.#connect();
		return this.#open;
	}

	/** The next `get` opens anew. */
	discard(): void {
		const open = this.#open;
		this.#open = undefined;
		if (this.#opener.owned) open?.then((database) => database.close()).catch(() => {});
	}

	#connect(): Promise<IDBDatabase> {
		const forget = (): void => {
			if (this.#open === promise) this.#open = undefined;
		};
		const promise = this.#opener.open().then((database) => {
			// A newer tab wants to upgrade, or the user clears the site's data: stand in nobody's way.
			database.addEventListener('versionchange', () => {
				forget();
				if (this.#opener.owned) database.close();
			});
			database.addEventListener('close', forget);
			return database;
		});
		promise.catch(forget);
		return promise;
	}
}

export interface OpenOptions {
	name: string;
	/** Undefined opens whatever version is there. */
	version: number | undefined;
	blockedTimeoutMs: number;
	upgrade(database: IDBDatabase, event: IDBVersionChangeEvent, transaction: IDBTransaction): void;
}

/** The global one, looked up at each use: it may be missing, and some browsers throw at the mere sight of it. */
export function indexedDbFactory(): IDBFactory {
	try {
		const factory = globalThis.indexedDB as IDBFactory | undefined;
		if (factory !== undefined && factory !== null) return factory;
	} catch (cause) {
		throw new StorageError('open: this page may not use IndexedDB', { reason: 'unavailable' }, { cause });
	}
	throw new StorageError('open: there is no IndexedDB here', { reason: 'unavailable' });
}

/** `indexedDB.open` with an end: a blocked upgrade rejects in time, and what opens after that is closed. */
export function openDatabase(options: OpenOptions): Promise<IDBDatabase> {
	return new Promise((resolve, reject) => {
		const factory = indexedDbFactory();
		let asked: IDBOpenDBRequest;
		try {
			asked = factory.open(options.name, options.version);
		} catch (cause) {
			reject(storageError(cause, 'open'));
			return;
		}
		let timer: ReturnType<typeof setTimeout> | undefined;
		let isOver = false;
		asked.onblocked = () => {
			timer = setTimeout(() => {
				isOver = true;
				reject(new StorageError('open: another tab holds an older version open', { reason: 'blocked' }));
			}, options.blockedTimeoutMs);
		};
		asked.onupgradeneeded = (event) => {
			const transaction = asked.transaction;
			if (transaction === null) return;
			if (isOver) {
				transaction.abort();
				return;
			}
			options.upgrade(asked.result, event, transaction);
		};
		asked.onsuccess = () => {
			clearTimeout(timer);
			if (isOver) asked.result.close();
			else resolve(asked.result);
		};
		asked.onerror = (event) => {
			event.preventDefault();
			clearTimeout(timer);
			reject(openError(asked.error));
		};
	});
}

function openError(cause: DOMException | null): StorageError {
	const error = storageError(cause, 'open');
	// Whatever refuses to open without saying more (private mode, policy, a broken profile) may open later.
	return error.reason === 'aborted' || error.reason === 'closed'
		? new StorageError('open: the browser refuses the database', { reason: 'unavailable' }, { cause })
		: error;
}

export function deleteDatabase(name: string, blockedTimeoutMs: number): Promise<void> {
	return new Promise((resolve, reject) => {
		const asked = indexedDbFactory().deleteDatabase(name);
		let timer: ReturnType<typeof setTimeout> | undefined;
		asked.onblocked = () => {
			timer = setTimeout(
				() => reject(new StorageError('clear: another tab holds the data open', { reason: 'blocked' })),
				blockedTimeoutMs,
			);
		};
		asked.onsuccess = () => {
			clearTimeout(timer);
			resolve();
		};
		asked.onerror = () => {
			clearTimeout(timer);
			reject(storageError(asked.error, 'clear'));
		};
	});
}
