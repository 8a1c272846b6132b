/// <reference lib="esnext.disposable" preserve="true" />
import type { Context } from '../connect/context.js';
import type { ChangeColumns, ChangeRow } from '../core/contract.js';
import { changeRows } from '../core/rows.js';
import type { Offsets } from './offsets.js';
import { type Placed, Poller, type PollOptions } from './poller.js';

/** One advance of a materialized index: rows of this source range have landed. A hint: the rows are read by a query. */
export type ChangeRecord = ChangeRow;

/**
 * Reads the change feed when asked to, and never by itself. The application keeps `offsets` if it wants to go on after a
 * restart; a failed or aborted poll moves none.
 */
export class WatchReader {
	readonly #poller: Poller;

	/** @internal */
	constructor(context: Context, index: string | undefined) {
		this.#poller = new Poller(context, 'changes', () => ({
			...context.feedTopic,
			...(index === undefined ? {} : { index }),
		}));
	}

	/** Next offset to read of each feed partition: a copy, empty before the first poll unless seeded. */
	get offsets(): ReadonlyMap<number, bigint> {
		return this.#poller.offsets;
	}

	/** Diagnostics: records left out since this reader began. */
	get skipped(): { readonly malformed: number; readonly version: number; readonly otherIndex: number } {
		return this.#poller.skipped;
	}

	/** Goes on where an earlier reader stopped. Takes a map, or a list whose index is the partition. */
	fromOffsets(saved: Offsets): this {
		this.#poller.seek(saved);
		return this;
	}

	/** Records per request, 1,000 by default. */
	batch(records: number): this {
		this.#poller.batch(records);
		return this;
	}

	/** What came since the last poll, possibly nothing: up to 10,000 records of each partition, the rest next time. */
	async poll(options?: PollOptions): Promise<readonly ChangeRecord[]> {
		const { columns, rows } = await this.#poller.poll(options);
		return rows ?? changeRows(columns as ChangeColumns);
	}

	/**
	 * Record by record, until everything was read. `offsets` move with each record; whoever leaves the loop early gets the
	 * others from the next poll or stream.
	 */
	stream(options?: PollOptions): AsyncGenerator<ChangeRecord, void, void> {
		return this.#poller.records(options, (columns) => placed(columns as ChangeColumns));
	}

	/** Frees what the reader holds. It opens again by itself when it is used again. */
	close(): void {
		this.#poller.close();
	}

	[Symbol.dispose](): void {
		this.close();
	}
}

function* placed(columns: ChangeColumns): Generator<Placed<ChangeRecord>> {
	const values = changeRows(columns);
	for (const [at, value] of values.entries()) {
		yield { partition: columns.feedPartitionId[at]!, offset: columns.offset[at]!, value };
	}
}
