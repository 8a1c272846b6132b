import { type Abortable, cancelled, onAbort, signalOf } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import type { Positions, ReaderBatch, Skipped } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';
import { samePositions } from '../storage/store.js';
import { checkOffsets, type Offsets, saturated } from './offsets.js';

export type PollOptions = Abortable;

/** A record with where it lies in the topic that is read. */
export interface Placed<T> {
	readonly partition: number;
	readonly offset: bigint;
	readonly value: T;
}

type Mode = 'poll' | 'stream';

interface Turn {
	readonly read: ReaderBatch;
	/** Set where records are to be handed over one by one. */
	readonly streaming: { readonly positions: Positions } | undefined;
}

const MAX_BATCH = 10_000;

/** Frees the core's readers of pollers that were dropped: their users have nothing to close by contract. */
const dropped = new FinalizationRegistry<() => void>((close) => close());

/** One reader of the core in watch mode: opened with the first poll, polls one after another. */
export class Poller {
	readonly #context: Context;
	readonly #content: 'changes' | 'records';
	readonly #place: () => { stream: string; topic: string; index?: string };
	/** Counts polls that moved an offset. */
	#moves = 0;
	readonly #doing = { surface: 'watch', operation: 'poll' };
	#reader: { id: number; stream: string; topic: string; asRows: boolean } | undefined;
	#offsets: Map<number, bigint> = new Map();
	#batch: number | undefined;
	#skipped: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	/** Skipped by readers that were closed since. */
	#skippedBefore: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	#last: Promise<unknown> = Promise.resolve();
	/** Where a stream that still has records of its last batch to hand over will be when it has. */
	#streaming: { readonly positions: Positions } | undefined;

	constructor(
		context: Context,
		content: 'changes' | 'records',
		place: () => { stream: string; topic: string; index?: string },
	) {
		this.#context = context;
		this.#content = content;
		this.#place = place;
	}

	get offsets(): ReadonlyMap<number, bigint> {
		return saturated(this.#offsets);
	}

	get skipped(): Skipped {
		const before = this.#skippedBefore;
		return {
			malformed: before.malformed + this.#skipped.malformed,
			version: before.version + this.#skipped.version,
			otherIndex: before.otherIndex + this.#skipped.otherIndex,
		};
	}

	seek(saved: Offsets): void {
		const offsets = new Map(checkOffsets(saved));
		this.close();
		this.#streaming = undefined;
		this.#offsets = offsets;
	}

	batch(records: number): void {
		if (!Number.isInteger(records) || records < 1 || records > MAX_BATCH) {
			throw new InvalidError(`batch: 1 to ${MAX_BATCH} records`, { rule: 'argument' });
		}
		this.close();
		this.#batch = records;
	}

	/** Changes come as objects, without their columns. */
	async poll(options: PollOptions): Promise<ReaderBatch> {
		return (await this.#turn(signalOf(options), 'poll')).read;
	}

	/**
	 * Record by record, until everything was read. Offsets move with each record that is handed over: whoever leaves early
	 * gets the others next time. A poll meanwhile goes on after the whole batch that is being handed over.
	 */
	async *records<T>(
		options: PollOptions,
		make: (columns: ReaderBatch['columns']) => Iterable<Placed<T>> | Promise<Iterable<Placed<T>>>,
	): AsyncGenerator<T, void, void> {
		for (;;) {
			const moves = this.#moves;
			const { read, streaming } = await this.#turn(signalOf(options), 'stream');
			try {
				for (const { partition, offset, value } of await make(read.columns)) {
					if (streaming !== undefined && this.#streaming === streaming)
						this.#offsets.set(partition, offset + 1n);
					yield value;
				}
				if (this.#streaming === streaming) this.#endStreaming();
			} finally {
				if (this.#streaming === streaming && streaming !== undefined) {
					this.#streaming = undefined;
					this.close();
				}
			}
			// A poll of nothing but foreign records delivers none and is no end.
			if (read.columns.count === 0 && this.#moves === moves) return;
		}
	}

	#endStreaming(): void {
		if (this.#streaming === undefined) return;
		this.#offsets = new Map(this.#streaming.positions);
		this.#streaming = undefined;
	}

	#turn(signal: AbortSignal | undefined, mode: Mode): Promise<Turn> {
		if (signal?.aborted) return Promise.reject(cancelled(signal, 'poll'));
		return new Promise((resolve, reject) => {
			// Only while it waits for its turn: from then on the read itself knows whether it was aborted or done, and what
			// moved the offsets is handed over.
			const stop = onAbort(signal, () => reject(cancelled(signal as AbortSignal, 'poll')));
			const turn = this.#last.then(() => {
				stop();
				return this.#poll(signal, mode);
			});
			this.#last = turn.catch(() => {});
			turn.then(resolve, reject);
		});
	}

	close(): void {
		if (this.#reader === undefined) return;
		this.#skippedBefore = this.skipped;
		this.#skipped = { malformed: 0, version: 0, otherIndex: 0 };
		this.#context.driver.closeReader(this.#reader.id);
		dropped.unregister(this);
		this.#reader = undefined;
	}

	async #poll(signal: AbortSignal | undefined, mode: Mode): Promise<Turn> {
		if (signal?.aborted) throw cancelled(signal, 'poll');
		this.#endStreaming();
		const id = this.#open(this.#content === 'changes' && mode === 'poll');
		const read = await this.#context.driver.read(id, { signal }, this.#doing);
		this.#skipped = read.skipped;
		if (samePositions(read.positions, this.#offsets)) return { read, streaming: undefined };
		this.#moves += 1;
		if (mode === 'poll' || read.columns.count === 0) {
			this.#offsets = new Map(read.positions);
			return { read, streaming: undefined };
		}
		const streaming = { positions: read.positions };
		this.#streaming = streaming;
		this.#offsets = new Map(this.#offsets);
		return { read, streaming };
	}

	#open(asRows: boolean): number {
		const place = this.#place();
		const { driver } = this.#context;
		// The feed's place follows the server's announcement, which may have come since.
		if (
			this.#reader !== undefined &&
			(this.#reader.stream !== place.stream ||
				this.#reader.topic !== place.topic ||
				this.#reader.asRows !== asRows)
		) {
			this.close();
		}
		if (this.#reader === undefined) {
			const id = driver.openReader({
				...place,
				mode: 'watch',
				content: this.#content,
				rows: asRows,
				from: this.#offsets.size === 0 ? 'beginning' : this.#offsets,
				...(this.#batch === undefined ? {} : { batch: this.#batch }),
			});
			this.#reader = { id, stream: place.stream, topic: place.topic, asRows };
			dropped.register(this, () => driver.closeReader(id), this);
		}
		return this.#reader.id;
	}
}
