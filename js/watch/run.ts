import { cancelled, onAbort, sleep } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { defaults } from '../connect/defaults.js';
import type { Driver } from '../connect/driver.js';
import type { Gap, ReaderBatch, ReaderOptions, Skipped } from '../core/contract.js';
import { isRetryable } from '../errors/classify.js';
import { ClosedError, HistoryLostError, InvalidError, PositionConflictError } from '../errors/index.js';
import { hasLocks, takeLock } from '../platform/locks.js';
import { type PositionSource, samePositions } from '../storage/store.js';
import type { Batch, ColumnsOf, CommitResult } from './batch.js';
import type { WatcherState } from './events.js';
import type { PositionKeeper } from './keeper.js';
import { saturated } from './offsets.js';

/** What is read, found out anew at each start: capabilities may have changed since. */
export interface SourceSpec<C> {
	readonly content: 'changes' | 'records';
	/** @throws {UnsupportedError} */
	place(): { stream: string; topic: string; index?: string };
	/** Objects of the columns. Asynchronous only where a schema may be. */
	objects(columns: ColumnsOf<C>): readonly C[] | Promise<readonly C[]>;
	/** Must the objects be made before the batch is handed over? */
	readonly eager: boolean;
}

export interface RunOptions {
	readonly from: ReaderOptions['from'];
	readonly onHistoryLost: 'earliest' | 'now' | undefined;
	readonly batch: number | undefined;
	readonly byteCap: number | undefined;
}

/** What a run tells its watcher. */
export interface RunListener {
	state(state: WatcherState): void;
	gap(gap: Gap): void;
	/** Records were left out because they are malformed or of a later version, or were of another index. */
	skipped(more: Skipped): void;
	/** A batch was handled: append time of its last record. */
	handled(lastTimestampMicros: bigint | undefined): void;
}

export interface RunParts<C, Tx> {
	context: Context;
	spec: SourceSpec<C>;
	options: RunOptions;
	keeper: PositionKeeper<Tx>;
	/** Names the lock that the turn is, where other tabs may want it. */
	lockName: (() => Promise<string>) | undefined;
	listener: RunListener;
	signal: AbortSignal | undefined;
}

const DOING = { surface: 'watch', operation: 'read' };
const FIRST_REOPEN_MS = 100;
const LONGEST_REOPEN_MS = 5_000;

/** One reading of a source from its stored position on, until it is ended. Batches are numbered and committed in order. */
export class Run<C, Tx> {
	readonly #parts: RunParts<C, Tx>;
	/** Fires when the run ends for good. */
	readonly #end = new AbortController();
	/** Fires when the current reading is to be given up and begun again from the stored position. */
	#restart = new AbortController();
	#reader: number | undefined;
	/** Of the reader. */
	#driver: Driver;
	/** A connection for this run alone, where the server answers nothing else while it waits for records. */
	#apart: Promise<Context> | undefined;
	/** Its driver, until the reader has moved there. */
	#next: Driver | undefined;
	#isFollowing = false;
	#release: (() => void) | undefined;
	#hasTurn = false;
	#isPositioned = false;
	#isFirstRead = true;
	#source: PositionSource | undefined;
	/** Batches of an earlier generation are void. */
	#generation = 0;
	#handedOver = 0;
	#asked = 0;
	#committing: Promise<unknown> = Promise.resolve();
	#latest: { generation: number; isAsked: boolean; commit: () => Promise<unknown> } | undefined;
	/** While the page stands still: no turn is taken. */
	#awake: { promise: Promise<void>; resolve: () => void } | undefined;
	#skipped: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	readonly #resets = new Map<string, number>();
	readonly #stopSignal: () => void;
	readonly #stopHeld: () => void;

	constructor(parts: RunParts<C, Tx>) {
		this.#parts = parts;
		this.#driver = parts.context.driver;
		this.#stopHeld = this.#driver.onLineHeld(() => this.#goApart());
		this.#stopSignal = onAbort(parts.signal, () => this.#stop());
		if (parts.signal?.aborted) this.#stop();
	}

	get ended(): boolean {
		return this.#end.signal.aborted;
	}

	/**
	 * The next batch that holds anything; `undefined` when there is no more and `waitMs` is undefined. With it, an empty
	 * feed is asked again at that interval, and failures that may pass are waited out.
	 */
	async next(waitMs: number | undefined): Promise<Batch<C, Tx> | undefined> {
		let pause = FIRST_REOPEN_MS;
		this.#isFollowing = waitMs !== undefined;
		for (;;) {
			this.#throwIfEnded();
			this.#move();
			const restart = this.#restart;
			let read: ReaderBatch;
			try {
				await this.#position();
				read = await this.#read(waitMs);
			} catch (error) {
				this.#throwIfEnded();
				if (restart.signal.aborted) continue;
				if (waitMs === undefined || !isRetryable(error)) throw error;
				await this.#pause(pause);
				pause = Math.min(pause * 2, LONGEST_REOPEN_MS);
				continue;
			}
			// Begun again while the answer was on its way here: it belongs to a position that was left.
			if (restart.signal.aborted) continue;
			pause = FIRST_REOPEN_MS;
			for (const gap of read.gaps) this.#lost(gap);
			this.#countSkipped(read.skipped);
			if (read.columns.count > 0 || read.gaps.length > 0) {
				const batch = await this.#batch(read, restart.signal);
				if (batch === undefined) continue;
				return batch;
			}
			await this.#moveQuietly(read);
			if (waitMs === undefined && read.caughtUp) return undefined;
		}
	}

	/** Gives up what is under way and begins again at the stored position. Batches handed over so far are void. */
	restart(): void {
		this.#generation += 1;
		this.#handedOver = 0;
		this.#asked = 0;
		this.#readAgain();
	}

	#readAgain(): void {
		this.#isPositioned = false;
		const restart = this.#restart;
		this.#restart = new AbortController();
		restart.abort();
	}

	#goApart(): void {
		if (this.#apart !== undefined || this.ended || !this.#isFollowing) return;
		const apart = this.#parts.context.link.apart();
		this.#apart = apart;
		apart.then(
			({ driver }) => {
				this.#next = driver;
				this.#move();
			},
			() => {
				// Asked at the interval here, as before, until the line is held again.
				this.#apart = undefined;
			},
		);
	}

	/** To the other connection, from the stored position on: not before everything that was handed over is committed. */
	#move(): void {
		if (this.#next === undefined || this.ended || this.#handedOver > this.#asked) return;
		if (this.#reader !== undefined) this.#driver.closeReader(this.#reader);
		this.#reader = undefined;
		this.#skipped = { malformed: 0, version: 0, otherIndex: 0 };
		this.#driver = this.#next;
		this.#next = undefined;
		this.#readAgain();
	}

	/**
	 * What an iterator does with the batch that it handed out last, before it hands out another: commits it, unless the
	 * application did, or the batch is void. A commit that the application asked for has told it how it went.
	 */
	async settle(): Promise<void> {
		const latest = this.#latest;
		if (latest === undefined || this.ended) return;
		if (latest.isAsked) await latest.commit().catch(() => {});
		else if (latest.generation === this.#generation) await latest.commit();
	}

	/** Lets another tab have the name: this page is going to stand still. */
	suspend(): void {
		if (this.ended || this.#awake !== undefined) return;
		let resolve = (): void => {};
		const promise = new Promise<void>((done) => {
			resolve = done;
		});
		this.#awake = { promise, resolve };
		this.#giveTurnBack();
		this.restart();
	}

	resume(): void {
		this.#awake?.resolve();
		this.#awake = undefined;
	}

	async end(): Promise<void> {
		this.#stop();
		await this.#committing.catch(() => {});
	}

	#stop(): void {
		if (this.ended) return;
		this.#end.abort();
		this.#restart.abort();
		this.resume();
		this.#stopSignal();
		this.#stopHeld();
		if (this.#reader !== undefined) this.#driver.closeReader(this.#reader);
		this.#reader = undefined;
		this.#apart?.then(
			({ driver }) => driver.close(),
			() => {},
		);
		this.#giveTurnBack();
		this.#parts.listener.state('stopped');
	}

	#giveTurnBack(): void {
		this.#hasTurn = false;
		this.#release?.();
		this.#release = undefined;
	}

	#throwIfEnded(): void {
		const { signal } = this.#parts;
		if (signal?.aborted) throw cancelled(signal, 'read');
		if (this.ended) throw new ClosedError('read: the watcher was stopped');
	}

	/** Takes the turn, loads the stored position and points the reader at it. */
	async #position(): Promise<void> {
		if (this.#isPositioned) return;
		const { spec, options, keeper } = this.#parts;
		const generation = this.#generation;
		const isNewOwner = await this.#takeTurn();
		await this.#committing;
		const place = spec.place();
		this.#source = { content: spec.content, ...place };
		const stored = await keeper.load(this.#source, isNewOwner);
		this.#throwIfEnded();
		if (generation !== this.#generation) throw new ClosedError('read: begun again');
		if (this.#reader === undefined) {
			this.#reader = this.#driver.openReader(
				{
					...place,
					mode: 'durable',
					content: spec.content,
					...(options.batch === undefined ? {} : { batch: options.batch }),
					byteCap: options.byteCap ?? defaults.batchByteCap,
					from: stored?.positions ?? options.from ?? 'beginning',
					...(stored?.identity === undefined ? {} : { identity: stored.identity }),
					...(options.onHistoryLost === undefined ? {} : { onHistoryLost: options.onHistoryLost }),
				},
				(state) => this.#parts.listener.state(state),
			);
		} else {
			this.#driver.seek(this.#reader, stored?.positions ?? options.from ?? 'beginning', stored?.identity);
		}
		this.#isFirstRead = true;
		this.#isPositioned = true;
	}

	async #takeTurn(): Promise<boolean> {
		await this.#awake?.promise;
		if (this.#hasTurn) return false;
		const { lockName, listener } = this.#parts;
		if (lockName !== undefined && hasLocks()) {
			listener.state('waiting_for_turn');
			// Waiting is a state like any other and has no time limit.
			const { signal } = this.#restart;
			const release = await takeLock(await lockName(), signal);
			if (signal.aborted) {
				release?.();
				signal.throwIfAborted();
			}
			this.#release = release;
		}
		this.#hasTurn = true;
		listener.state('reading');
		return this.#release !== undefined;
	}

	async #read(waitMs: number | undefined): Promise<ReaderBatch> {
		const reader = this.#reader as number;
		// The first read never waits: its answer fixes where "now" is, so that a reload finds the same place.
		const wait = waitMs === undefined || this.#isFirstRead ? {} : { waitMs };
		const signal = this.#restart.signal;
		const batch = await this.#driver.read(reader, { ...wait, signal }, DOING);
		this.#isFirstRead = false;
		return batch;
	}

	/** Records that were filtered out move the position as well, without a batch to show for it. */
	async #moveQuietly(read: ReaderBatch): Promise<void> {
		const { keeper } = this.#parts;
		// Batches that wait for their commit take the position along.
		if (this.#handedOver > this.#asked || this.#source === undefined) return;
		const known = keeper.place?.positions;
		if (read.positions.size === 0 || (known !== undefined && samePositions(known, read.positions))) return;
		const generation = this.#generation;
		try {
			await this.#committing;
			if (generation !== this.#generation) return;
			await keeper.commit({ positions: read.positions, identity: read.identity }, this.#source);
		} catch (error) {
			// Somebody else moved it: read on from where they are.
			if (!(error instanceof PositionConflictError)) throw error;
			this.restart();
		}
	}

	#pause(ms: number): Promise<void> {
		return sleep(ms, this.#restart.signal, 'read').catch(() => {});
	}

	#lost(gap: Gap): void {
		const place = `${gap.partitionId}:${gap.asked}`;
		const resets = (this.#resets.get(place) ?? 0) + 1;
		this.#resets.set(place, resets);
		this.#parts.listener.gap(gap);
		if (resets < defaults.loopBreakerResets) return;
		this.#resets.clear();
		throw new HistoryLostError(
			`read: partition ${gap.partitionId} was reset at offset ${gap.asked} ${resets} times without getting past it`,
			gap,
		);
	}

	/** The core counts since its reader was opened. */
	#countSkipped(now: Skipped): void {
		const before = this.#skipped;
		this.#skipped = now;
		this.#parts.listener.skipped({
			malformed: now.malformed - before.malformed,
			version: now.version - before.version,
			otherIndex: now.otherIndex - before.otherIndex,
		});
	}

	/** Undefined when reading was begun again while a schema was at work. */
	async #batch(read: ReaderBatch, restarted: AbortSignal): Promise<Batch<C, Tx> | undefined> {
		const { spec, keeper } = this.#parts;
		const generation = this.#generation;
		const columns = read.columns as ColumnsOf<C>;
		let objects = spec.eager ? await spec.objects(columns) : undefined;
		if (restarted.aborted) return undefined;
		this.#handedOver += 1;
		const sequence = this.#handedOver;
		let result: Promise<CommitResult> | undefined;
		const commit = (write?: (transaction: Tx) => unknown): Promise<CommitResult> => {
			result ??= this.#commit(generation, sequence, read, write);
			return result;
		};
		const latest = { generation, isAsked: false, commit };
		this.#latest = latest;
		return {
			get changes() {
				objects ??= spec.objects(columns) as readonly C[];
				return objects;
			},
			columns,
			positions: saturated(read.positions),
			persistent: keeper.persistence === 'persistent',
			gap: read.gaps[0],
			gaps: read.gaps,
			commit: (write) => {
				latest.isAsked = true;
				return commit(write);
			},
		};
	}

	async #commit(
		generation: number,
		sequence: number,
		read: ReaderBatch,
		write: ((transaction: Tx) => unknown) | undefined,
	): Promise<CommitResult> {
		this.#checkGeneration(generation);
		if (sequence !== this.#asked + 1) {
			throw new InvalidError('commit: an earlier batch is not committed yet');
		}
		this.#asked = sequence;
		const turn = this.#committing
			.catch(() => {})
			.then(async () => {
				this.#checkGeneration(generation);
				const { keeper, listener } = this.#parts;
				try {
					const place = { positions: read.positions, identity: read.identity };
					const persisted = await keeper.commit(place, this.#source as PositionSource, write);
					this.#resets.clear();
					listener.handled(read.columns.timestampMicros[read.columns.count - 1]);
					return { persisted };
				} catch (error) {
					// Rows and position stayed where they were, so the same changes come again.
					this.restart();
					throw error;
				}
			});
		this.#committing = turn.catch(() => {});
		return turn;
	}

	#checkGeneration(generation: number): void {
		if (generation !== this.#generation) {
			throw new PositionConflictError('commit: the position was moved since this batch was read');
		}
	}
}
