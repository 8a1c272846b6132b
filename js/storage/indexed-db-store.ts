import { ConfigError, StorageError } from '../errors/index.js';
import {
	DatabaseConnection,
	type DatabaseOpener,
	deleteDatabase,
	indexedDbFactory,
	openDatabase,
} from './idb-connection.js';
import { isConnectionLoss, isDatabaseFailure, storageError } from './idb-failure.js';
import {
	ApplicationFailure,
	installStores,
	listPositions,
	POSITIONS,
	readPosition,
	updatePosition,
} from './idb-transaction.js';
import type { Decision, Store, StoredEntry, StoredPosition, StoreKey } from './store.js';

interface CommonOptions {
	/**
	 * The application's object stores that take part in commits. In a database of Tidemark's own the default is all that
	 * there are.
	 */
	stores?: readonly string[];
	/** `strict` waits for the disk. Default: the browser's. */
	durability?: IDBTransactionDurability;
	/** Called once when no room is left: frees some and answers true for another try. */
	evict?: (database: IDBDatabase) => Promise<boolean>;
	/** How long another tab may block an upgrade, ms. Default 5,000. */
	blockedTimeoutMs?: number;
}

/** A database of Tidemark's own, called `tidemark:<scope>:<name>`. */
export interface OwnDatabaseOptions extends CommonOptions {
	/** Whose data it is. Default: the scope that was given to `connect`. */
	scope?: string;
	/** Default: the durable name, so that each watcher has a database of its own. */
	name?: string;
	/** Of the application's stores. Default 1. */
	version?: number;
	/** Creates the application's stores. Add to them only: an older version of the application may come back. */
	upgrade?: (database: IDBDatabase, event: IDBVersionChangeEvent, transaction: IDBTransaction) => void;
}

/** The application's own database, opened (again, when the connection was lost) by `open`, and never closed by us. */
export interface ApplicationDatabaseOptions extends CommonOptions {
	open: () => Promise<IDBDatabase>;
	stores: readonly string[];
	scope?: string;
}

export type IndexedDbStoreOptions = OwnDatabaseOptions | ApplicationDatabaseOptions;

const BLOCKED_TIMEOUT_MS = 5_000;
const DEFAULT_SCOPE = 'default';

/** Positions and rows in IndexedDB. */
export class IndexedDbStore implements Store<IDBTransaction> {
	readonly persistent = true;
	readonly shared = true;
	readonly #options: IndexedDbStoreOptions;
	readonly #connections = new Map<string, DatabaseConnection>();
	#bound: StoreKey | undefined;

	constructor(options: IndexedDbStoreOptions = {}) {
		if ('open' in options && typeof options.open !== 'function') {
			throw new ConfigError('IndexedDbStore: open must be a function');
		}
		this.#options = options;
	}

	/** A database that two users of the machine would share must be told whose data it holds. */
	get needsScope(): boolean {
		return this.#options.scope === undefined;
	}

	bind(key: StoreKey): void {
		this.#bound = key;
	}

	/** Database and entry. Only opening an application's own database tells its name. */
	async place(key: StoreKey): Promise<string> {
		const database =
			'open' in this.#options
				? await this.#run(key, 'open', async ({ name }) => name)
				: this.#databaseName(key, this.#options);
		return JSON.stringify([database, this.#options.scope ?? key.scope, key.name]);
	}

	async read(key: StoreKey): Promise<StoredPosition | undefined> {
		return this.#run(key, 'read', (database, own) => readPosition(database, own));
	}

	async update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write?: (transaction: IDBTransaction) => unknown,
	): Promise<void> {
		const attempt = (): Promise<void> =>
			this.#run(key, 'commit', (database, own) =>
				updatePosition(database, {
					key: own,
					stores: write === undefined ? [] : this.#storesIn(database),
					durability: this.#options.durability ?? 'default',
					decide,
					write,
				}),
			);
		try {
			await attempt();
		} catch (error) {
			const { evict } = this.#options;
			if (!(error instanceof StorageError && error.reason === 'quota') || evict === undefined) throw error;
			if (!(await evict(await this.#connection(key).get()))) throw error;
			await attempt();
		}
	}

	/** A transaction over the application's stores outside a commit, for reading rows back or tidying them up. */
	async transaction<T>(
		stores: readonly string[],
		mode: 'readonly' | 'readwrite',
		body: (transaction: IDBTransaction) => T | PromiseLike<T>,
	): Promise<T> {
		const key = this.#bound ?? { scope: DEFAULT_SCOPE, name: '' };
		if (!('open' in this.#options) && this.#options.name === undefined && this.#bound === undefined) {
			throw new ConfigError('IndexedDbStore: no watcher uses this store yet, and it has no name of its own');
		}
		return this.#run(key, 'transaction', async (database) => {
			const transaction = database.transaction([...stores], mode);
			const done = new Promise<void>((resolve, reject) => {
				transaction.oncomplete = () => resolve();
				transaction.onabort = () => reject(transaction.error ?? new DOMException('aborted', 'AbortError'));
			});
			done.catch(() => {});
			let result: T;
			try {
				result = await body(transaction);
			} catch (error) {
				try {
					transaction.abort();
				} catch {
					// It ended already.
				}
				throw transaction.error ?? new ApplicationFailure(error);
			}
			await done;
			return result;
		});
	}

	async list(scope?: string): Promise<StoredEntry[]> {
		if ('open' in this.#options || this.#options.name !== undefined) {
			const key = { scope: scope ?? this.#bound?.scope ?? DEFAULT_SCOPE, name: '' };
			const all = await this.#run(key, 'list', (database) => listPositions(database));
			return all.filter((entry) => scope === undefined || entry.scope === scope);
		}
		const found: StoredEntry[] = [];
		for (const name of await databaseNames(scope)) {
			const database = await openDatabase({
				name,
				version: undefined,
				blockedTimeoutMs: this.#blockedTimeoutMs,
				upgrade: (created) => installStores(created),
			});
			try {
				if (database.objectStoreNames.contains(POSITIONS)) found.push(...(await listPositions(database)));
			} finally {
				database.close();
			}
		}
		return found;
	}

	/**
	 * For log-out. Databases of Tidemark's own are deleted, rows and all. In the application's database the positions
	 * are removed; its rows are its own affair.
	 */
	async clear(scope: string): Promise<void> {
		if ('open' in this.#options) {
			for (const entry of await this.list(scope)) await this.update(entry, () => 'remove');
			return;
		}
		const prefix = databaseName(scope, '');
		for (const [name, connection] of this.#connections) if (name.startsWith(prefix)) connection.discard();
		for (const name of await databaseNames(scope)) await deleteDatabase(name, this.#blockedTimeoutMs);
	}

	get #blockedTimeoutMs(): number {
		return this.#options.blockedTimeoutMs ?? BLOCKED_TIMEOUT_MS;
	}

	/** Runs a whole transaction; once more on a fresh connection when the old one turns out to be gone. */
	async #run<T>(
		key: StoreKey,
		operation: string,
		body: (database: IDBDatabase, own: StoreKey) => Promise<T>,
	): Promise<T> {
		if (key.name !== '') this.#bound ??= key;
		const own = { scope: this.#options.scope ?? key.scope, name: key.name };
		const connection = this.#connection(key);
		for (let attempt = 1; ; attempt++) {
			try {
				return await body(await connection.get(), own);
			} catch (error) {
				if (error instanceof ApplicationFailure) throw error.cause;
				if (!isDatabaseFailure(error)) throw error;
				if (isConnectionLoss(error)) connection.discard();
				if (attempt === 2 || !isConnectionLoss(error)) throw storageError(error, operation);
			}
		}
	}

	#storesIn(database: IDBDatabase): readonly string[] {
		return this.#options.stores ?? [...database.objectStoreNames].filter((name) => name !== POSITIONS);
	}

	#connection(key: StoreKey): DatabaseConnection {
		const options = this.#options;
		const name = 'open' in options ? '' : this.#databaseName(key, options);
		let connection = this.#connections.get(name);
		if (connection === undefined) {
			connection = new DatabaseConnection(
				'open' in options ? applications(options) : this.#ours(options, name),
			);
			this.#connections.set(name, connection);
		}
		return connection;
	}

	#databaseName(key: StoreKey, options: OwnDatabaseOptions): string {
		return databaseName(options.scope ?? key.scope, options.name ?? key.name);
	}

	#ours(options: OwnDatabaseOptions, name: string): DatabaseOpener {
		const open = (version: number | undefined): Promise<IDBDatabase> =>
			openDatabase({
				name,
				version,
				blockedTimeoutMs: this.#blockedTimeoutMs,
				upgrade: (database, event, transaction) => {
					installStores(database);
					options.upgrade?.(database, event, transaction);
				},
			});
		return {
			owned: true,
			open: async () => {
				try {
					return await open(options.version ?? 1);
				} catch (error) {
					if (!(error instanceof StorageError && error.reason === 'version')) throw error;
					// An older application after a roll-back: stores are only ever added, so what it needs is there.
					const database = await open(undefined);
					const missing = [POSITIONS, ...(options.stores ?? [])].some(
						(store) => !database.objectStoreNames.contains(store),
					);
					if (!missing) return database;
					database.close();
					throw error;
				}
			},
		};
	}
}

function applications(options: ApplicationDatabaseOptions): DatabaseOpener {
	return {
		owned: false,
		open: async () => {
			let database: IDBDatabase;
			try {
				database = await options.open();
			} catch (cause) {
				throw storageError(cause, 'open');
			}
			if (!database.objectStoreNames.contains(POSITIONS)) {
				throw new StorageError('open: installStores was not called in the upgrade of this database', {
					reason: 'version',
					retryable: false,
				});
			}
			return database;
		},
	};
}

/** Colons in a scope or name must not make one user's database look like another's. */
function databaseName(scope: string, name: string): string {
	return `tidemark:${encodeURIComponent(scope)}:${encodeURIComponent(name)}`;
}

async function databaseNames(scope: string | undefined): Promise<string[]> {
	const prefix = scope === undefined ? 'tidemark:' : databaseName(scope, '');
	const all = await indexedDbFactory().databases();
	return all.flatMap(({ name }) => (name?.startsWith(prefix) ? [name] : []));
}
