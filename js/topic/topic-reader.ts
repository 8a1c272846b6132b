/// <reference lib="esnext.disposable" preserve="true" />
import type { Context } from '../connect/context.js';
import type { RecordColumns } from '../core/contract.js';
import { TypedEventTarget } from '../platform/events.js';
import { MisfitEvent } from '../watch/events.js';
import type { Offsets } from '../watch/offsets.js';
import { Poller, type PollOptions } from '../watch/poller.js';
import type { TopicRecord } from './record.js';
import { fittingRecords, plainRecords, type StandardSchema } from './schema.js';

export interface TopicReaderOptions<T = undefined> {
	/** What the records' JSON must fit. A record that does not is counted, reported (event `misfit`) and left out. */
	schema?: StandardSchema<T>;
	/** Records per request, 1,000 by default. */
	batch?: number;
}

/** Reads any topic when asked to. The application keeps `offsets`; a failed or aborted poll moves none. */
export class TopicReader<T = undefined> extends TypedEventTarget<{ misfit: MisfitEvent }> {
	readonly #poller: Poller;
	readonly #schema: StandardSchema<T> | undefined;
	#misfits = 0;

	/** @internal */
	constructor(
		context: Context,
		place: { stream: string; topic: string },
		options: TopicReaderOptions<T> = {},
	) {
		super();
		this.#poller = new Poller(context, 'records', () => place);
		this.#schema = options.schema;
		if (options.batch !== undefined) this.#poller.batch(options.batch);
	}

	/** Next offset to read of each partition: a copy, empty before the first poll unless seeded. */
	get offsets(): ReadonlyMap<number, bigint> {
		return this.#poller.offsets;
	}

	/** Records that did not fit the schema. */
	get misfits(): number {
		return this.#misfits;
	}

	fromOffsets(saved: Offsets): this {
		this.#poller.seek(saved);
		return this;
	}

	batch(records: number): this {
		this.#poller.batch(records);
		return this;
	}

	/** What came since the last poll, possibly nothing: up to 10,000 records of each partition, the rest next time. */
	async poll(options?: PollOptions): Promise<readonly TopicRecord<T>[]> {
		return this.#records((await this.#poller.poll(options)).columns as RecordColumns);
	}

	/**
	 * Record by record, until everything was read. `offsets` move with each record; whoever leaves the loop early gets the
	 * others from the next poll or stream.
	 */
	stream(options?: PollOptions): AsyncGenerator<TopicRecord<T>, void, void> {
		return this.#poller.records(options, async (columns) =>
			(await this.#records(columns as RecordColumns)).map((value) => ({
				partition: value.partitionId,
				offset: value.offset,
				value,
			})),
		);
	}

	async #records(columns: RecordColumns): Promise<readonly TopicRecord<T>[]> {
		if (this.#schema === undefined) return plainRecords(columns) as TopicRecord<T>[];
		return fittingRecords(columns, this.#schema, (misfit) => {
			this.#misfits += 1;
			this.dispatchEvent(new MisfitEvent(misfit));
		});
	}

	/** Frees what the reader holds. It opens again by itself when it is used again. */
	close(): void {
		this.#poller.close();
	}

	[Symbol.dispose](): void {
		this.close();
	}
}
