import { type Abortable, orAborted, signalOf } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import type { ReaderBatch, Skipped } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';
import { samePositions } from '../storage/store.js';
import { checkOffsets, type Offsets, saturated } from './offsets.js';

export type PollOptions = Abortable;

const MAX_BATCH = 10_000;

/** Frees the core's readers of pollers that were dropped: their users have nothing to close by contract. */
const dropped = new FinalizationRegistry<() => void>((close) => close());

/** One reader of the core in watch mode: opened with the first poll, polls one after another. */
export class Poller {
	readonly #context: Context;
	readonly #content: 'changes' | 'records';
	readonly #place: () => { stream: string; topic: string; index?: string };
	readonly #doing = { surface: 'watch', operation: 'poll' };
	#reader: { id: number; stream: string; topic: string } | undefined;
	#offsets: Map<number, bigint> = new Map();
	#batch: number | undefined;
	#skipped: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	/** Skipped by readers that were closed since. */
	#skippedBefore: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	#last: Promise<unknown> = Promise.resolve();
	#moves = 0;

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

	/** Counts polls that moved an offset. */
	get moves(): number {
		return this.#moves;
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
		this.#offsets = offsets;
	}

	batch(records: number): void {
		if (!Number.isInteger(records) || records < 1 || records > MAX_BATCH) {
			throw new InvalidError(`batch: 1 to ${MAX_BATCH} records`, { rule: 'argument' });
		}
		this.close();
		this.#batch = records;
	}

	poll(options: PollOptions): Promise<ReaderBatch> {
		const signal = signalOf(options);
		const turn = this.#last.then(() => this.#poll(signal));
		this.#last = turn.catch(() => {});
		return orAborted(turn, signal, 'poll');
	}

	close(): void {
		if (this.#reader === undefined) return;
		this.#skippedBefore = this.skipped;
		this.#skipped = { malformed: 0, version: 0, otherIndex: 0 };
		this.#context.driver.closeReader(this.#reader.id);
		dropped.unregister(this);
		this.#reader = undefined;
	}

	async #poll(signal: AbortSignal | undefined): Promise<ReaderBatch> {
		const id = this.#open();
		const read = await this.#context.driver.read(id, { signal }, this.#doing);
		this.#skipped = read.skipped;
		if (!samePositions(read.positions, this.#offsets)) {
			this.#offsets = new Map(read.positions);
			this.#moves += 1;
		}
		return read;
	}

	#open(): number {
		const place = this.#place();
		const { driver } = this.#context;
		// The feed's place follows the server's announcement, which may have come since.
		if (
			this.#reader !== undefined &&
			(this.#reader.stream !== place.stream || this.#reader.topic !== place.topic)
		) {
			this.close();
		}
		if (this.#reader === undefined) {
			const id = driver.openReader({
				...place,
				mode: 'watch',
				content: this.#content,
				rows: this.#content === 'changes',
				from: this.#offsets.size === 0 ? 'beginning' : this.#offsets,
				...(this.#batch === undefined ? {} : { batch: this.#batch }),
			});
			this.#reader = { id, stream: place.stream, topic: place.topic };
			dropped.register(this, () => driver.closeReader(id), this);
		}
		return this.#reader.id;
	}
}
