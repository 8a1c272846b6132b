import type { Abortable } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import type { RecordColumns } from '../core/contract.js';
import { isNotFound } from '../errors/classify.js';
import { InvalidError } from '../errors/index.js';
import type { Store } from '../storage/store.js';
import { type DurableOptions, DurableWatcher, type TransactionOf } from '../watch/durable.js';
import { MisfitEvent } from '../watch/events.js';
import { offsetsForTime } from './offset-for-time.js';
import { PublishBatchRequest, PublishRequest } from './publish.js';
import type { TopicRecord } from './record.js';
import { fittingRecords, plainRecords, type StandardSchema } from './schema.js';
import { TopicReader, type TopicReaderOptions } from './topic-reader.js';

const CREATE_STREAM = 202;
const CREATE_TOPIC = 302;
const MAX_PARTITIONS = 1_000;

export interface TopicDurableOptions<T, S extends Store = Store> extends DurableOptions<S> {
	/** What the records' JSON must fit. A record that does not is reported (event `misfit`) and left out. */
	schema?: StandardSchema<T>;
}

/** A stream by its name. Naming one does no I/O. */
export class StreamHandle {
	readonly name: string;
	readonly #context: Context;

	/** @internal */
	constructor(context: Context, name: string) {
		checkName(name, 'stream');
		this.#context = context;
		this.name = name;
	}

	topic(name: string): Topic {
		return new Topic(this.#context, this.name, name);
	}

	/** Creates the stream unless it is there. */
	async ensure(options?: Abortable): Promise<void> {
		await this.#context.call(
			CREATE_STREAM,
			{ name: this.name },
			{ surface: 'topic', operation: 'ensure stream', ensure: true, signal: options },
		);
	}
}

/** A topic by its name. Naming one does no I/O. */
export class Topic {
	readonly stream: string;
	readonly name: string;
	readonly #context: Context;

	/** @internal */
	constructor(context: Context, stream: string, name: string) {
		checkName(name, 'topic');
		this.#context = context;
		this.stream = stream;
		this.name = name;
	}

	/** Creates the topic, and its stream, unless they are there. What is there keeps its number of partitions. */
	async ensure(partitions = 1, options?: Abortable): Promise<void> {
		if (!Number.isInteger(partitions) || partitions < 1 || partitions > MAX_PARTITIONS) {
			throw new InvalidError(`ensure: 1 to ${MAX_PARTITIONS} partitions`, { rule: 'argument' });
		}
		const create = (): Promise<unknown> =>
			this.#context.call(
				CREATE_TOPIC,
				{ streamId: this.stream, partitionsCount: partitions, name: this.name },
				{ surface: 'topic', operation: 'ensure topic', ensure: true, signal: options },
			);
		try {
			await create();
		} catch (error) {
			if (!isNotFound(error)) throw error;
			await new StreamHandle(this.#context, this.stream).ensure(options);
			await create();
		}
	}

	/** One record to publish. */
	publish(): PublishRequest {
		return new PublishRequest(this.#context, this.stream, this.name);
	}

	/** Many records to publish together. */
	publishBatch(): PublishBatchRequest {
		return new PublishBatchRequest(this.#context, this.stream, this.name);
	}

	/** A reader that keeps its offsets in memory. Needs no managed plane. */
	reader<T = undefined>(options: TopicReaderOptions<T> = {}): TopicReader<T> {
		return new TopicReader<T>(this.#context, this.#place, options);
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
			this.#context,
			name,
			{
				content: 'records',
				place: () => this.#place,
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

	/**
	 * For every partition, the first offset appended at or after a time, µs since 1970; the end of the partition where
	 * there is none.
	 */
	offsetForTime(micros: bigint, options?: Abortable): Promise<ReadonlyMap<number, bigint>> {
		return offsetsForTime(this.#context, this.#place, micros, options);
	}

	get #place(): { stream: string; topic: string } {
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
