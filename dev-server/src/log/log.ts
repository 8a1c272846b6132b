import type { NewRecord, PlaneLog, StoredRecord } from '../contract.js';
import { buildBatch, readRecords } from './batch.js';
import type { TopicMeta } from './catalog_model.js';
import type { Partition } from './partition.js';
import { TopicLog } from './topic_log.js';

export type { LogOptions, NewTopic } from './topic_log.js';

const READ_BYTES = 32 << 20;

/** The log by names instead of ids: what the managed plane and an embedding program use. */
export class Log extends TopicLog implements PlaneLog {
	async ensureStream(stream: string): Promise<void> {
		if (!this.catalog.streamByName(stream)) this.createStream(stream);
	}

	async ensureTopic(stream: string, topic: string, partitions: number): Promise<void> {
		await this.ensureStream(stream);
		if (!this.findTopic(stream, topic)) {
			this.createTopic(this.catalog.streamByName(stream)!, { name: topic, partitions });
		}
	}

	partitionCount(stream: string, topic: string): number | undefined {
		return this.findTopic(stream, topic)?.partitions.length;
	}

	topicCreatedAtMicros(stream: string, topic: string): bigint | undefined {
		return this.findTopic(stream, topic)?.createdAt;
	}

	partitionEpoch(stream: string, topic: string, partitionId: number): bigint | undefined {
		return this.findTopic(stream, topic)?.partitions[partitionId]?.epoch;
	}

	end(stream: string, topic: string, partitionId: number): bigint {
		return this.#named(stream, topic, partitionId).partition.end;
	}

	start(stream: string, topic: string, partitionId: number): bigint {
		return this.#named(stream, topic, partitionId).partition.start;
	}

	async read(
		stream: string,
		topic: string,
		partitionId: number,
		from: bigint,
		count: number,
	): Promise<StoredRecord[]> {
		const { partition } = this.#named(stream, topic, partitionId);
		return readRecords(partition.read(from, count, READ_BYTES).bytes);
	}

	async append(stream: string, topic: string, partitionId: number, records: NewRecord[]): Promise<bigint> {
		const found = this.#named(stream, topic, partitionId);
		if (records.length === 0) return found.partition.end;
		const batch = buildBatch(records, this.now());
		return this.appendBatch(found.topic, found.partition, batch, records.length);
	}

	#named(stream: string, topic: string, id: number): { topic: TopicMeta; partition: Partition } {
		const found = this.findTopic(stream, topic);
		const partition = found && this.partition(found, id);
		if (!found || !partition) throw new Error(`no partition ${id} of ${stream}/${topic}`);
		return { topic: found, partition };
	}
}
