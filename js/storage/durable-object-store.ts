import { LaserError, StorageError } from '../errors/index.js';
import { fromRecord, type PositionRecord, toRecord } from './position-record.js';
import type { Decision, Store, StoredEntry, StoredPosition, StoreKey } from './store.js';

/** The part of a Durable Object's transaction that is used. */
export interface DurableObjectTransactionLike {
	get<T = unknown>(key: string): Promise<T | undefined>;
	put<T>(key: string, value: T): Promise<void>;
	delete(key: string): Promise<boolean>;
}

/** The part of a Durable Object's `ctx.storage` that is used. */
export interface DurableObjectStorageLike<Tx extends DurableObjectTransactionLike> {
	get<T = unknown>(key: string): Promise<T | undefined>;
	delete(key: string): Promise<boolean>;
	list<T = unknown>(options: { prefix: string }): Promise<Map<string, T>>;
	transaction<T>(closure: (transaction: Tx) => Promise<T>): Promise<T>;
	/** Resolves when everything written so far is on the disk. */
	sync?(): Promise<void>;
}

const PREFIX = 'tidemark:position:';

/** One after the other for each storage, whatever a backend makes of transactions that overlap. */
const turns = new WeakMap<object, Promise<unknown>>();

/**
 * Positions in the storage of a Durable Object, together with the application's own keys: `commit(tx => …)` gets the
 * object's transaction. `storage` is the object's `ctx.storage`; in an object backed by SQLite, statements of
 * `storage.sql` in the function are part of it as well. Keys that start with `tidemark:` are Tidemark's.
 */
export class DurableObjectStore<Tx extends DurableObjectTransactionLike = DurableObjectTransactionLike>
	implements Store<Tx>
{
	readonly persistent = true;
	/** There is one object of an id in the world. */
	readonly shared = false;
	readonly needsScope = false;
	readonly #storage: DurableObjectStorageLike<Tx>;

	constructor(storage: DurableObjectStorageLike<Tx>) {
		this.#storage = storage;
	}

	async read(key: StoreKey): Promise<StoredPosition | undefined> {
		const record = await guard('read', () => this.#storage.get<PositionRecord>(keyOf(key)));
		return fromRecord(record);
	}

	update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write?: (transaction: Tx) => unknown,
	): Promise<void> {
		const turn = (turns.get(this.#storage) ?? Promise.resolve()).then(() => this.#update(key, decide, write));
		turns.set(
			this.#storage,
			turn.catch(() => {}),
		);
		return turn;
	}

	async list(scope?: string): Promise<StoredEntry[]> {
		const found = await guard('list', () =>
			this.#storage.list<PositionRecord>({ prefix: scope === undefined ? PREFIX : prefixOf(scope) }),
		);
		return [...found.values()].map((record) => fromRecord(record) as StoredEntry);
	}

	/** Removes the positions; the application's rows are its own affair. */
	async clear(scope: string): Promise<void> {
		for (const entry of await this.list(scope)) await this.update(entry, () => 'remove');
	}

	async #update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write: ((transaction: Tx) => unknown) | undefined,
	): Promise<void> {
		// Errors that pass through a transaction may come out as copies: the application gets its own.
		let ofApplication: { cause: unknown } | undefined;
		const note = (cause: unknown): never => {
			ofApplication = { cause };
			throw cause;
		};
		try {
			await this.#storage.transaction(async (transaction) => {
				ofApplication = undefined;
				const stored = fromRecord(await transaction.get<PositionRecord>(keyOf(key)));
				let decision: Decision;
				try {
					decision = decide(stored);
					await write?.(transaction);
				} catch (cause) {
					return note(cause);
				}
				if (decision === 'remove') await transaction.delete(keyOf(key));
				else if (decision !== 'keep') await transaction.put(keyOf(key), toRecord(key, decision.put));
			});
		} catch (error) {
			throw ofApplication === undefined ? failure(error, 'commit') : ofApplication.cause;
		}
		await guard('commit', () => this.#storage.sync?.() ?? Promise.resolve());
	}
}

/** Colons in a scope must not make one user's keys look like another's. */
function prefixOf(scope: string): string {
	return `${PREFIX}${encodeURIComponent(scope)}:`;
}

function keyOf({ scope, name }: StoreKey): string {
	return `${prefixOf(scope)}${encodeURIComponent(name)}`;
}

async function guard<T>(operation: string, body: () => Promise<T>): Promise<T> {
	try {
		return await body();
	} catch (error) {
		throw failure(error, operation);
	}
}

function failure(cause: unknown, operation: string): unknown {
	if (cause instanceof LaserError) return cause;
	const text = cause instanceof Error ? cause.message : '';
	return /quota|limit|SQLITE_FULL|too large/i.test(text)
		? new StorageError(`${operation}: no room is left`, { reason: 'quota' }, { cause })
		: new StorageError(`${operation}: the object's storage failed`, { reason: 'aborted' }, { cause });
}
