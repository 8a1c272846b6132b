import { requireCapability } from '../connect/capabilities.js';
import type { Context } from '../connect/context.js';
import type { ChangeColumns } from '../core/contract.js';
import { changeRows } from '../core/rows.js';
import { ClosedError, InvalidError } from '../errors/index.js';
import type { Store } from '../storage/store.js';
import { type DurableOptions, DurableWatcher, type TransactionOf } from './durable.js';
import { type ChangeRecord, WatchReader } from './watch-reader.js';

/** The change feed of the managed plane. Describing what to watch does no I/O. */
export class Watch {
	readonly #context: Context;
	readonly #index: string | undefined;

	/** @internal */
	constructor(context: Context, index?: string) {
		this.#context = context;
		this.#index = index;
	}

	/**
	 * Only changes of this index.
	 *
	 * @throws {InvalidError} the name is empty: nothing would ever match it
	 */
	index(name: string): Watch {
		if (name === '') throw new InvalidError('watch: the name of the index is empty', { rule: 'name_length' });
		return new Watch(this.#context, this.#context.resourceName(name));
	}

	/**
	 * A reader that keeps its offsets in memory.
	 *
	 * @throws {UnsupportedError} the server publishes no change feed
	 */
	async records(): Promise<WatchReader> {
		if (this.#context.driver.closed) throw new ClosedError('watch: the connection is closed');
		this.#require();
		return new WatchReader(this.#context, this.#index);
	}

	/** A watcher that goes on where it stopped, also after a reload. The name is the application's, one per use. */
	durable<S extends Store = Store<IDBTransaction>>(
		name: string,
		options: DurableOptions<S> = {},
	): DurableWatcher<ChangeRecord, TransactionOf<S>> {
		const index = this.#index;
		return new DurableWatcher<ChangeRecord, TransactionOf<S>>(
			this.#context,
			name,
			{
				content: 'changes',
				place: () => {
					this.#require();
					return { ...this.#context.feedTopic, ...(index === undefined ? {} : { index }) };
				},
				objects: (columns) => changeRows(columns as ChangeColumns),
				eager: false,
			},
			options,
		);
	}

	#require(): void {
		requireCapability(this.#context.capabilities.watch, 'watch', 'watch');
	}
}
