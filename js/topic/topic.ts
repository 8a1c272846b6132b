import type { Context } from '../connect/context.js';
import type { RecordColumns } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';
import type { Store } from '../storage/store.js';
import { type DurableOptions, DurableWatcher, type TransactionOf } from '../watch/durable.js';
import { MisfitEvent } from '../watch/events.js';
import type { TopicRecord } from './record.js';
import { fittingRecords, plainRecords, type StandardSchema } from './schema.js';
import { TopicReader, type TopicReaderOptions } from './topic-reader.js';

export interface TopicDurableOptions<T, S extends Store = Store> extends DurableOptions<S> {
	/** What the records' JSON must fit. A record that does not is reported (event `misfit`) and left out. */
	schema?: StandardSchema<T>;
}

/** A stream by its name. Naming one does no I/O. */
export class StreamHandle {
	readonly name: string;
	/** @internal */
	protected readonly context: Context;

	/** @internal */
	constructor(context: Context, name: string) {
		checkName(name, 'stream');
		this.context = context;
		this.name = name;
	}

	topic(name: string): Topic {
		return new Topic(this.context, this.name, name);
	}
}

/** A topic by its name. Naming one does no I/O. */
export class Topic {
	readonly stream: string;
	readonly name: string;
	/** @internal */
	protected readonly context: Context;

	/** @internal */
	constructor(context: Context, stream: string, name: string) {
		checkName(name, 'topic');
		this.context = context;
		this.stream = stream;
		this.name = name;
	}

	/** A reader that keeps its offsets in memory. Needs no managed plane. */
	reader<T = undefined>(options: TopicReaderOptions<T> = {}): TopicReader<T> {
		return new TopicReader<T>(this.context, this.place, options);
	}

	/** A watcher that goes on where it stopped, also after a reload. The name is the application's, one per use. */
	durable<T = undefined, S extends Store = Store<IDBTransaction>>(
		name: string,
		options: TopicDurableOptions<T, S> = {},
	): DurableWatcher<TopicRecord<T>, TransactionOf<S>> {
		const { schema } = options;
		const report = (misfit: ConstructorParameters<typeof MisfitEvent>[0]): void => {
			watcher.dispatchEvent(new MisfitEvent(misfit));
		};
		const watcher: DurableWatcher<TopicRecord<T>, TransactionOf<S>> = new DurableWatcher(
			this.context,
			name,
			{
				content: 'records',
				place: () => this.place,
				objects: (columns) =>
					schema === undefined
						? (plainRecords(columns as RecordColumns) as TopicRecord<T>[])
						: fittingRecords(columns as RecordColumns, schema, report),
				eager: schema !== undefined,
			},
			options,
		);
		return watcher;
	}

	/** @internal */
	protected get place(): { stream: string; topic: string } {
		return { stream: this.stream, topic: this.name };
	}
}

function checkName(name: string, what: string): void {
	if (typeof name !== 'string') throw new InvalidError(`${what}: a name is text`, { rule: 'argument' });
	// A lone surrogate is written as U+FFFD: another name than the one that was given.
	if (/\p{Surrogate}/u.test(name)) {
		throw new InvalidError(`${what}: the name has half of a character`, { rule: 'argument' });
	}
	const length = new TextEncoder().encode(name).length;
	if (length < 1 || length > 255) {
		throw new InvalidError(`${what}: a name has 1 to 255 bytes`, { rule: 'name_length' });
	}
}
