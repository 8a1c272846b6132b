import type { Positions, SourceIdentity } from '../core/contract.js';

/** Which position: whose, and under which durable name. */
export interface StoreKey {
	readonly scope: string;
	readonly name: string;
}

/** What a position is a position in. */
export interface PositionSource {
	readonly content: 'changes' | 'records';
	readonly stream: string;
	readonly topic: string;
	readonly index?: string;
}

export interface StoredPosition {
	/** Next offset to read of each partition. */
	readonly positions: Positions;
	/** Tells a recreated source from the one that was read. */
	readonly identity: SourceIdentity | undefined;
	/** Grows whenever another owner takes over, or the position is moved by hand. */
	readonly epoch: number;
	/** Wall time of the last change, ms since 1970. */
	readonly updatedAt: number;
	readonly source: PositionSource;
}

export interface StoredEntry extends StoredPosition, StoreKey {}

/** What to do with the stored position, decided inside the transaction from what is stored now. Throwing aborts it. */
export type Decision = { readonly put: StoredPosition } | 'remove' | 'keep';

/**
 * Keeps positions, together with whatever an application writes in the same transaction. `Tx` is the kind of
 * transaction that it hands to the application.
 *
 * Every store promises: an update happens completely or not at all, and a resolved update survives what the store
 * survives; updates of one key happen one after another; 64-bit offsets come back exactly as they went in.
 * Failures are StorageErrors; what `decide` or `write` throw is passed on as it is.
 */
export interface Store<Tx = unknown> {
	/** Do entries outlive the page? */
	readonly persistent: boolean;
	/** Do other tabs see the same entries? */
	readonly shared: boolean;
	/** Must whoever uses it say whose data it is, where users change? */
	readonly needsScope: boolean;
	/** Told which key a watcher is going to use, before the first call. */
	bind?(key: StoreKey): void;
	/** Names where the entry of a key is kept: the same for stores that share it, in this tab or another, and no other. */
	place?(key: StoreKey): Promise<string>;
	read(key: StoreKey): Promise<StoredPosition | undefined>;
	/**
	 * Reads, decides and writes in one transaction, which `write` joins. `write` may run twice (a retry after a lost
	 * connection) and may await only its own requests to this transaction.
	 */
	update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write?: (transaction: Tx) => unknown,
	): Promise<void>;
	/** The stored positions, of one scope or of all. */
	list(scope?: string): Promise<StoredEntry[]>;
	/** Removes everything that is kept for a scope: for log-out. */
	clear(scope: string): Promise<void>;
}

export function samePositions(a: Positions, b: Positions): boolean {
	if (a.size !== b.size) return false;
	for (const [partition, next] of a) if (b.get(partition) !== next) return false;
	return true;
}
