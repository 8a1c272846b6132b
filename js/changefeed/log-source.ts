import { sleep } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { defaults, driverDefaults } from '../connect/defaults.js';
import type { ChangeColumns, ReaderBatch, RecordColumns } from '../core/contract.js';
import { HistoryLostError } from '../errors/index.js';
import { decodePlace, encodePlace } from './position-bytes.js';
import type { Change, Position, SourceStream } from './types.js';

/** What becomes of one entry of a batch; `undefined`: nothing to hand over. */
export type Map1<C> = (columns: ChangeColumns | RecordColumns, entry: number) => C | undefined;

export interface LogOptions<C extends Change> {
	context: Context;
	place: { stream: string; topic: string; index?: string };
	content: 'changes' | 'records';
	from: Position | 'earliest' | undefined;
	map: Map1<C>;
	/** Counted by the mapper. */
	skipped(): number;
	intervalMs: number | undefined;
}

const DOING = { surface: 'changefeed', operation: 'read' };
/** After a quiet time of this length the consumer hears that all is well. */
const QUIET_MS = 5_000;
const EXHAUSTED = 2n ** 64n;

/** A topic of a log as the stream of a consumer, over the core's durable reader. */
export class LogStream<C extends Change> implements SourceStream<C> {
	readonly #options: LogOptions<C>;
	readonly #reader: number;
	#batch: ReaderBatch | undefined;
	#entry = 0;
	readonly #next = new Map<number, bigint>();
	#position: Position | undefined;
	#isQuietSince: number | undefined;
	#isClosed = false;

	private constructor(options: LogOptions<C>, reader: number) {
		this.#options = options;
		this.#reader = reader;
	}

	static async open<C extends Change>(options: LogOptions<C>, signal: AbortSignal): Promise<LogStream<C>> {
		const { context, place, content, from } = options;
		const stored = from instanceof Uint8Array ? decodePlace(from) : undefined;
		const start =
			stored === undefined
				? from === 'earliest'
					? 'beginning'
					: 'now'
				: // There was no topic then: whatever it holds now came later.
					stored.positions.size === 0
					? 'beginning'
					: stored.positions;
		const reader = context.driver.openReader({
			...place,
			mode: 'durable',
			content,
			byteCap: defaults.batchByteCap,
			from: start,
			...(stored?.identity === undefined ? {} : { identity: stored.identity }),
		});
		const stream = new LogStream(options, reader);
		try {
			await stream.#read(signal);
			stream.#begin(start);
			return stream;
		} catch (error) {
			stream.close();
			throw error;
		}
	}

	get skipped(): number {
		const skipped = this.#batch?.skipped;
		return (skipped === undefined ? 0 : skipped.malformed + skipped.version) + this.#options.skipped();
	}

	position(): Position {
		this.#position ??= encodePlace({ positions: this.#next, identity: this.#batch?.identity });
		return this.#position;
	}

	async next(signal: AbortSignal): Promise<C | undefined> {
		for (;;) {
			const batch = this.#batch as ReaderBatch;
			while (this.#entry < batch.columns.count) {
				const change = this.#take(batch);
				if (change !== undefined) return change;
			}
			// The batch is used up: the position takes along what was filtered out.
			if (this.#moveTo(batch)) return undefined;
			if (batch.caughtUp) {
				const now = performance.now();
				this.#isQuietSince ??= now;
				if (now - this.#isQuietSince >= QUIET_MS) {
					this.#isQuietSince = undefined;
					return undefined;
				}
				await sleep(this.#options.intervalMs ?? driverDefaults.followMs, signal, DOING.operation);
			}
			await this.#read(signal);
		}
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#options.context.driver.closeReader(this.#reader);
	}

	async #read(signal: AbortSignal): Promise<void> {
		const batch = await this.#options.context.driver.read(this.#reader, { signal }, DOING);
		this.#batch = batch;
		this.#entry = 0;
		const [gap] = batch.gaps;
		if (gap === undefined) return;
		throw new HistoryLostError(`partition ${gap.partitionId}: history is lost (${gap.reason})`, gap);
	}

	/** The place before the first batch, which its reader has passed. */
	#begin(start: unknown): void {
		const batch = this.#batch as ReaderBatch;
		const { columns } = batch;
		for (const [partition, next] of batch.positions) this.#next.set(partition, next);
		for (let entry = columns.count - 1; entry >= 0; entry--) {
			this.#next.set(partitionOf(columns, entry), columns.offset[entry]!);
		}
		if (batch.positions.size === 0 && start === 'now') {
			// No topic yet: all that it will hold comes after now.
			this.#options.context.driver.seek(this.#reader, 'beginning', undefined);
		}
	}

	#take(batch: ReaderBatch): C | undefined {
		const { columns } = batch;
		const entry = this.#entry++;
		const change = this.#options.map(columns, entry);
		this.#next.set(partitionOf(columns, entry), columns.offset[entry]! + 1n);
		if (this.#entry === columns.count) this.#moveTo(batch);
		this.#position = undefined;
		this.#isQuietSince = undefined;
		return change;
	}

	#moveTo(batch: ReaderBatch): boolean {
		let isMoved = false;
		for (const [partition, next] of batch.positions) {
			if (this.#next.get(partition) === next) continue;
			this.#next.set(partition, next > EXHAUSTED ? EXHAUSTED : next);
			isMoved = true;
		}
		if (isMoved) {
			this.#position = undefined;
			this.#isQuietSince = undefined;
		}
		return isMoved;
	}
}

function partitionOf(columns: ChangeColumns | RecordColumns, entry: number): number {
	return columns.kind === 'changes' ? columns.feedPartitionId[entry]! : columns.partitionId[entry]!;
}
