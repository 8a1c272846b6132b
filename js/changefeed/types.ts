import type { Op } from '../core/consumer.js';

/** A place in a history, opaque: only its source can read it. A stream opened at it continues exactly after it. */
export type Position = Uint8Array;

export interface Namespace {
	readonly realm?: string | undefined;
	readonly database?: string | undefined;
	readonly collection: string;
}

/** A collection by its name alone, or by its whole namespace. */
export type CollectionName = string | Namespace;

/** What a consumer watches. An empty set waits. */
export interface WatchSet {
	/** Application collections: changes with their images. */
	readonly collections?: readonly CollectionName[];
	/** System collections: of their changes only key, op and field names are told. */
	readonly system?: readonly CollectionName[];
}

interface ChangeBase {
	readonly namespace: Namespace;
	readonly system: boolean;
	/** When it happened, µs since 1970. */
	readonly atMicros: bigint;
	/** Orders changes of one time: the two together identify a change. */
	readonly increment: number;
}

/** One document or row changed. */
export interface RowChange extends ChangeBase {
	readonly kind: 'row';
	readonly op: 'insert' | 'update' | 'replace' | 'delete';
	readonly key: unknown;
	/** After the change, of a removal before it; 0 when images are missing. */
	readonly version: number | bigint;
	readonly before?: unknown;
	readonly after?: unknown;
	/** Names of changed fields as dot paths; empty for everything but updates. */
	readonly fields: readonly string[];
	/** The whole document was replaced. */
	readonly replace: boolean;
	/** Every image that the op has is there. Without it, `matches` takes nothing for a match. */
	readonly complete: boolean;
}

/** A range of source records landed in a materialized index. */
export interface RangeAdvanced extends ChangeBase {
	readonly kind: 'range';
	readonly op: 'advance';
	readonly index: string;
	readonly stream: string | undefined;
	readonly partition: number;
	readonly from: bigint;
	readonly to: bigint;
	readonly rows: number;
}

export type Change = RowChange | RangeAdvanced;

/** History that could not be resumed. The consumer goes on from now. */
export interface HistoryGap {
	/** `undefined` when it was lost before any position was known. */
	readonly position: Position | undefined;
	/** When that was noticed, µs since 1970. */
	readonly atMicros: bigint;
}

/**
 * Is told what happens, one call at a time: a promise is awaited, so a slow handler slows the consumer and nothing is
 * dropped. One that throws ends the run with its error, and the position stays before that change.
 */
export interface Handler<C extends Change = Change> {
	/** `at` lies after the change: what an application stores that wants to go on there. */
	change(change: C, at: Position): unknown;
	/** Nothing happened, and the position moved. */
	idle?(at: Position): unknown;
	/** Comes before whatever follows it. The stream that goes on is open already: a query made now misses nothing. */
	gap?(gap: HistoryGap): unknown;
}

export interface SourceStream<C extends Change = Change> {
	/** The next change, or `undefined` when only the position moved. May throw HistoryLostError. */
	next(signal: AbortSignal): Promise<C | undefined>;
	/** After what `next` said last; where it was opened, before that. */
	position(): Position;
	/** Records left out so far because they cannot be read. */
	readonly skipped?: number;
	close(): unknown;
}

/** Opens streams. The one thing that a database or a log has to bring. */
export interface Source<C extends Change = Change> {
	/**
	 * Opens a stream that continues exactly after `from`; without it from now. Where it is given up, the signal fires.
	 *
	 * @throws {HistoryLostError} `from` is no longer there
	 */
	open(
		watched: Required<WatchSet>,
		from: Position | 'earliest' | undefined,
		signal: AbortSignal,
	): Promise<SourceStream<C>>;
}

export type { Op };
