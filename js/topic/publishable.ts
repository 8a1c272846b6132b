import type { Abortable } from '../connect/abort.js';
import { isNotFound } from '../errors/classify.js';
import { InvalidError } from '../errors/index.js';
import { offsetsForTime } from './offset-for-time.js';
import { PublishBatchRequest, PublishRequest } from './publish.js';
import { StreamHandle, Topic } from './topic.js';

const CREATE_STREAM = 202;
const CREATE_TOPIC = 302;
const MAX_PARTITIONS = 1_000;

/** A stream by its name, that can be created and whose topics can be published to. */
export class PublishableStream extends StreamHandle {
	override topic(name: string): PublishableTopic {
		return new PublishableTopic(this.context, this.name, name);
	}

	/** Creates the stream unless it is there. */
	async ensure(options?: Abortable): Promise<void> {
		await this.context.call(
			CREATE_STREAM,
			{ name: this.name },
			{ surface: 'topic', operation: 'ensure stream', ensure: true, signal: options },
		);
	}
}

/** A topic by its name, that can be created and published to. The entry `tidemark` has these. */
export class PublishableTopic extends Topic {
	/** Creates the topic, and its stream, unless they are there. What is there keeps its number of partitions. */
	async ensure(partitions = 1, options?: Abortable): Promise<void> {
		if (!Number.isInteger(partitions) || partitions < 1 || partitions > MAX_PARTITIONS) {
			throw new InvalidError(`ensure: 1 to ${MAX_PARTITIONS} partitions`, { rule: 'argument' });
		}
		const create = (): Promise<unknown> =>
			this.context.call(
				CREATE_TOPIC,
				{ streamId: this.stream, partitionsCount: partitions, name: this.name },
				{ surface: 'topic', operation: 'ensure topic', ensure: true, signal: options },
			);
		try {
			await create();
		} catch (error) {
			if (!isNotFound(error)) throw error;
			await new PublishableStream(this.context, this.stream).ensure(options);
			await create();
		}
	}

	/** One record to publish. */
	publish(): PublishRequest {
		return new PublishRequest(this.context, this.stream, this.name);
	}

	/** Many records to publish together. */
	publishBatch(): PublishBatchRequest {
		return new PublishBatchRequest(this.context, this.stream, this.name);
	}

	/**
	 * For every partition, the first offset appended at or after a time, µs since 1970; the end of the partition where
	 * there is none.
	 */
	offsetForTime(micros: bigint, options?: Abortable): Promise<ReadonlyMap<number, bigint>> {
		return offsetsForTime(this.context, this.place, micros, options);
	}
}
