import type { ChangeColumns, Gap, Positions, RecordColumns } from '../core/contract.js';

/** The raw columns behind a batch. */
export type ColumnsOf<C> = C extends { rows: number; fromOffset: bigint } ? ChangeColumns : RecordColumns;

export interface CommitResult {
	/** False while nothing can be stored, and always with a store that is not persistent. */
	readonly persisted: boolean;
}

/** What a watcher hands over at once: whatever was there, up to a cap of bytes. */
export interface Batch<C, Tx = IDBTransaction> {
	/** Made from the columns when first asked for. */
	readonly changes: readonly C[];
	readonly columns: ColumnsOf<C>;
	/** After this batch: next offset to read of each partition. */
	readonly positions: Positions;
	/** Will a commit of this batch be stored? */
	readonly persistent: boolean;
	/** The first history found lost before these changes, if any. */
	readonly gap: Gap | undefined;
	readonly gaps: readonly Gap[];
	/**
	 * Moves the position past this batch, and past everything before it. What `write` writes to the transaction is there
	 * exactly once, together with the position; every other effect of an application happens at least once. `write` may
	 * run twice, and may await only its own requests. It is not called while storage is lost.
	 *
	 * @throws {PositionConflictError} another tab moved the position: nothing was written, the batch is void
	 * @throws {InvalidError} an earlier batch is not committed yet
	 */
	commit(write?: (transaction: Tx) => unknown): Promise<CommitResult>;
}
