import { InvalidError } from '../errors/index.js';
import { fromRecord, type PositionRecord, toRecord } from './position-record.js';
import type { Decision, StoredEntry, StoredPosition, StoreKey } from './store.js';

/** The object store for positions, in a database of ours as in the application's. */
export const POSITIONS = 'tidemark_positions';

/** Creates what Tidemark needs. For the upgrade handler of an application's own database; safe to repeat. */
export function installStores(database: IDBDatabase): void {
	if (!database.objectStoreNames.contains(POSITIONS)) {
		database.createObjectStore(POSITIONS, { keyPath: ['scope', 'name'] });
	}
}

function keyOf(key: StoreKey): IDBValidKey {
	return [key.scope, key.name];
}

export function readPosition(database: IDBDatabase, key: StoreKey): Promise<StoredEntry | undefined> {
	return new Promise((resolve, reject) => {
		const transaction = database.transaction(POSITIONS, 'readonly');
		const asked = transaction.objectStore(POSITIONS).get(keyOf(key)) as IDBRequest<
			PositionRecord | undefined
		>;
		transaction.oncomplete = () => resolve(fromRecord(asked.result));
		transaction.onabort = () => reject(transaction.error ?? asked.error ?? aborted());
	});
}

export function listPositions(database: IDBDatabase): Promise<StoredEntry[]> {
	return new Promise((resolve, reject) => {
		const transaction = database.transaction(POSITIONS, 'readonly');
		const asked = transaction.objectStore(POSITIONS).getAll() as IDBRequest<PositionRecord[]>;
		transaction.oncomplete = () => resolve(asked.result.map((record) => fromRecord(record) as StoredEntry));
		transaction.onabort = () => reject(transaction.error ?? aborted());
	});
}

export interface Update {
	key: StoreKey;
	/** Object stores that `write` may use. */
	stores: readonly string[];
	durability: IDBTransactionDurability;
	decide(stored: StoredPosition | undefined): Decision;
	write: ((transaction: IDBTransaction) => unknown) | undefined;
}

/**
 * Position and rows in one transaction. Resolves on `complete` only: a request's success is no promise that the
 * transaction will not be aborted after all.
 */
export function updatePosition(database: IDBDatabase, update: Update): Promise<void> {
	return new Promise((resolve, reject) => {
		const transaction = database.transaction([POSITIONS, ...update.stores], 'readwrite', {
			durability: update.durability,
		});
		let failure: { cause: unknown } | undefined;
		const abort = (cause: unknown): void => {
			failure ??= { cause };
			try {
				transaction.abort();
			} catch {
				// It was aborted already; the event is on its way.
			}
		};
		transaction.oncomplete = () => (failure === undefined ? resolve() : reject(failure.cause));
		transaction.onabort = () =>
			reject(failure === undefined ? (transaction.error ?? aborted()) : failure.cause);
		const positions = transaction.objectStore(POSITIONS);
		const asked = positions.get(keyOf(update.key)) as IDBRequest<PositionRecord | undefined>;
		asked.onsuccess = () => {
			try {
				const decision = update.decide(fromRecord(asked.result));
				const finish = (): void => {
					if (decision === 'remove') positions.delete(keyOf(update.key));
					else if (decision !== 'keep') positions.put(toRecord(update.key, decision.put));
				};
				const written = update.write === undefined ? undefined : ofApplication(update.write, transaction);
				if (isThenable(written)) holdOpen(transaction, positions, written, finish, abort);
				else finish();
			} catch (cause) {
				abort(cause);
			}
		};
	});
}

/** What the application's own code threw, as opposed to the database under it: passed on, never retried. */
export class ApplicationFailure {
	readonly cause: unknown;

	constructor(cause: unknown) {
		this.cause = cause;
	}
}

function ofApplication(
	write: (transaction: IDBTransaction) => unknown,
	transaction: IDBTransaction,
): unknown {
	try {
		return write(transaction);
	} catch (cause) {
		throw new ApplicationFailure(cause);
	}
}

/** How long a function given to `commit` may be pending while nothing happens in its transaction. */
const IDLE_LIMIT_MS = 1_000;

/**
 * Keeps the transaction open until `written` settles, with one small request after the other. Without that, a function
 * that awaits something foreign would find its rows committed and the position not. With it the position is written
 * last, in the same transaction, or nothing is: whoever awaits too long is aborted.
 */
function holdOpen(
	transaction: IDBTransaction,
	positions: IDBObjectStore,
	written: PromiseLike<unknown>,
	finish: () => void,
	abort: (cause: unknown) => void,
): void {
	let isSettled = false;
	let failure: { cause: unknown } | undefined;
	written.then(
		() => {
			isSettled = true;
		},
		(cause: unknown) => {
			isSettled = true;
			failure = { cause };
		},
	);
	let lastSign = performance.now();
	let ping: IDBRequest | undefined;
	// Success events do not bubble, but they are captured on their way down.
	transaction.addEventListener(
		'success',
		(event) => {
			if (event.target !== ping) lastSign = performance.now();
		},
		true,
	);
	const look = (): void => {
		if (failure !== undefined) abort(new ApplicationFailure(failure.cause));
		else if (isSettled) finish();
		else if (performance.now() - lastSign > IDLE_LIMIT_MS) {
			abort(new InvalidError('commit: the function awaits something other than its own requests'));
		} else {
			ping = positions.count();
			ping.onsuccess = () => {
				try {
					look();
				} catch (cause) {
					abort(cause);
				}
			};
		}
	};
	look();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return (
		typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
	);
}

function aborted(): DOMException {
	return new DOMException('the transaction was aborted', 'AbortError');
}
