import { join } from 'node:path';
import type { AppendEvent } from '../contract.js';
import { Catalog } from './catalog.js';
import {
	type CatalogEvent,
	NEVER,
	type PartitionMeta,
	type StreamMeta,
	type TopicMeta,
} from './catalog_model.js';
import { snapshot } from './catalog_snapshot.js';
import { Clock } from './clock.js';
import { lockFolder } from './folder_lock.js';
import { removeStrayFolders } from './folders.js';
import { FileJournal, type Journal, MemoryJournal } from './journal.js';
import { OpenPartitions } from './open_partitions.js';
import type { Partition } from './partition.js';
import { enforceRetention } from './retention.js';

export interface LogOptions {
	/** Folder of segments and catalog; undefined keeps everything in memory. */
	dataDir?: string | undefined;
	/** Flush to the device before every acknowledgement: survives a power cut, not only a killed process. */
	fsync?: boolean | undefined;
	/** Expiry of records of topics that set none, in milliseconds. */
	retentionMs?: number | undefined;
}

export interface NewTopic {
	name: string;
	partitions: number;
	options?: Buffer;
	/** Microseconds; NEVER keeps records for ever. */
	messageExpiry?: bigint;
	maxTopicSize?: bigint;
	compression?: number;
	segmentBytes?: bigint;
}

const DEFAULT_SEGMENT = 1n << 30n;
const COMMITS_RESERVED = 65_536n;

/** Streams, topics, partitions, their records and the stored offsets, by id. Everything here is on disk when it returns. */
export class TopicLog {
	readonly catalog = new Catalog();
	readonly #options: LogOptions;
	readonly #journal: Journal<CatalogEvent>;
	readonly #clock = new Clock();
	readonly #partitions: OpenPartitions;
	readonly #appendListeners: ((event: AppendEvent) => void)[] = [];
	readonly #deleteListeners: ((stream: string, topic: string) => void)[] = [];
	readonly #firstOffsets = new Map<string, bigint>();
	readonly #release: () => void;
	#commit: bigint;
	#commitsReserved: bigint;
	/** Commit number that the latest new partitions took as their incarnation. */
	#incarnated = 0n;

	constructor(options: LogOptions = {}) {
		this.#options = options;
		this.#partitions = new OpenPartitions(options);
		this.#release = options.dataDir ? lockFolder(options.dataDir) : () => {};
		try {
			this.#journal = options.dataDir
				? new FileJournal(join(options.dataDir, 'log'), () => snapshot(this.catalog), options.fsync === true)
				: new MemoryJournal();
			this.#load();
		} catch (error) {
			this.#release();
			throw error;
		}
		this.#clock.startAfter(this.catalog.latest);
		this.#commit = this.catalog.commit;
		this.#commitsReserved = this.#commit;
	}

	/** Changes the catalog; the change is kept before it is made. */
	record(event: CatalogEvent): void {
		this.#journal.append(event);
		this.catalog.apply(event);
	}

	/** Next number of the one counter behind sessions and commits. */
	nextCommit(): bigint {
		this.#commit++;
		if (this.#commit > this.#commitsReserved) {
			this.#commitsReserved = this.#commit + COMMITS_RESERVED;
			const { nextStreamId: stream, nextUserId: user } = this.catalog;
			this.record({ on: 'counters', stream, user, commit: this.#commitsReserved.toString() });
		}
		return this.#commit;
	}

	get commit(): bigint {
		return this.#commit;
	}

	now(): bigint {
		return this.#clock.now();
	}

	partition(topic: TopicMeta, id: number): Partition | undefined {
		const meta = topic.partitions[id];
		return meta && this.#partitions.get(meta);
	}

	createStream(name: string): StreamMeta {
		const id = this.catalog.nextStreamId;
		this.record({ on: 'stream+', id, name, at: this.now().toString() });
		return this.catalog.stream(id)!;
	}

	deleteStream(stream: StreamMeta): void {
		for (const topic of [...stream.topics.values()]) this.deleteTopic(topic);
		this.record({ on: 'stream-', id: stream.id });
	}

	createTopic(stream: StreamMeta, topic: NewTopic): TopicMeta {
		const id = stream.nextTopicId;
		this.record({
			on: 'topic+',
			stream: stream.id,
			id,
			name: topic.name,
			at: this.now().toString(),
			options: (topic.options ?? Buffer.alloc(0)).toString('base64'),
			expiry: (topic.messageExpiry ?? NEVER).toString(),
			size: (topic.maxTopicSize ?? NEVER).toString(),
			compression: topic.compression ?? 1,
			segment: (topic.segmentBytes ?? DEFAULT_SEGMENT).toString(),
		});
		const made = stream.topics.get(id)!;
		this.addPartitions(made, topic.partitions, made.createdAt);
		return made;
	}

	deleteTopic(topic: TopicMeta): void {
		const stream = this.catalog.stream(topic.streamId)!;
		this.record({ on: 'topic-', stream: stream.id, id: topic.id });
		for (const meta of topic.partitions) this.#partitions.remove(meta);
		for (const listener of this.#deleteListeners) listener(stream.name, topic.name);
	}

	addPartitions(topic: TopicMeta, count: number, createdAt = this.now()): void {
		const stream = this.catalog.stream(topic.streamId)!;
		const incarnation = this.#nextIncarnation();
		for (let made = 0; made < count; made++) {
			const id = topic.partitions.length;
			const first = this.#firstOffset(stream.name, topic.name, id);
			this.#makePartition(topic, { id, createdAt, incarnation, first });
		}
	}

	/** Removes the highest partition ids. */
	removePartitions(topic: TopicMeta, count: number): void {
		for (let removed = 0; removed < count; removed++) {
			const meta = topic.partitions.at(-1)!;
			this.record({ on: 'partition-', stream: topic.streamId, topic: topic.id, id: meta.id });
			this.#partitions.remove(meta);
		}
	}

	/** Forgets all records and stored offsets; offsets start again, ids and creation times stay. */
	purgeTopic(topic: TopicMeta): void {
		const incarnation = this.#nextIncarnation();
		for (const old of [...topic.partitions]) this.#remakePartition(topic, old, incarnation, old.firstOffset);
	}

	/** Drops records below an offset, or all of them. Gives the new start. */
	trimPartition(topic: TopicMeta, id: number, before: bigint | 'all'): bigint {
		const partition = this.partition(topic, id)!;
		const wanted = before === 'all' || before > partition.end ? partition.end : before;
		if (wanted <= partition.start) return partition.start;
		this.record({
			on: 'trim',
			stream: topic.streamId,
			topic: topic.id,
			partition: id,
			start: wanted.toString(),
		});
		partition.trim(wanted);
		return partition.start;
	}

	/** Appends a verified producer's batch, which is stamped in place. */
	appendBatch(topic: TopicMeta, partition: Partition, batch: Buffer, count: number): bigint {
		const baseOffset = partition.append(batch, this.now());
		if (this.#appendListeners.length > 0) {
			const event = {
				stream: this.catalog.stream(topic.streamId)!.name,
				topic: topic.name,
				partitionId: partition.id,
				baseOffset,
				count,
			};
			for (const listener of this.#appendListeners) listener(event);
		}
		return baseOffset;
	}

	/** Offset of the first record of partitions made from now on, so that tests can start near 2^64. */
	setFirstOffset(stream: string, topic: string, partition: number | undefined, offset: bigint): void {
		this.#firstOffsets.set(JSON.stringify([stream, topic, partition ?? 'all']), offset);
		const meta = this.findTopic(stream, topic);
		for (const one of meta?.partitions ?? []) {
			if (partition !== undefined && one.id !== partition) continue;
			const open = this.#partitions.get(one)!;
			if (open.end !== one.firstOffset || open.start !== one.firstOffset) {
				throw new Error(`partition ${one.id} of ${stream}/${topic} already holds records`);
			}
			this.#remakePartition(meta!, one, this.#nextIncarnation(), offset);
		}
	}

	/** Applies `message_expiry` and `max_topic_size` of every topic. */
	enforceRetention(): void {
		const now = Number(this.now());
		const fallback = this.#options.retentionMs && this.#options.retentionMs * 1000;
		for (const stream of this.catalog.streams.values()) {
			for (const topic of stream.topics.values()) enforceRetention(this, topic, now, fallback);
		}
	}

	findTopic(stream: string, topic: string): TopicMeta | undefined {
		const found = this.catalog.streamByName(stream);
		return found && this.catalog.topicByName(found, topic);
	}

	onAppend(listener: (event: AppendEvent) => void): void {
		this.#appendListeners.push(listener);
	}

	onTopicDeleted(listener: (stream: string, topic: string) => void): void {
		this.#deleteListeners.push(listener);
	}

	close(): void {
		this.#partitions.close();
		this.#journal.close();
		this.#release();
	}

	#load(): void {
		this.#journal.load((event) => this.catalog.apply(event));
		if (this.#options.dataDir) removeStrayFolders(this.#options.dataDir, this.catalog);
		for (const stream of this.catalog.streams.values()) {
			for (const topic of stream.topics.values()) {
				for (const meta of topic.partitions) this.#partitions.open(topic, meta);
			}
		}
	}

	/** New partitions are told from earlier ones of the same number by the commit that made them. */
	#nextIncarnation(): bigint {
		this.#incarnated = this.#commit > this.#incarnated ? this.#commit : this.nextCommit();
		return this.#incarnated;
	}

	#makePartition(
		topic: TopicMeta,
		made: { id: number; createdAt: bigint; incarnation: bigint; first: bigint },
	): void {
		this.record({
			on: 'partition+',
			stream: topic.streamId,
			topic: topic.id,
			id: made.id,
			at: made.createdAt.toString(),
			epoch: this.now().toString(),
			incarnation: made.incarnation.toString(),
			first: made.first.toString(),
			start: made.first.toString(),
		});
		this.#partitions.open(topic, topic.partitions[made.id]!);
	}

	/** The partition begins anew under its old number: no records, no stored offsets. */
	#remakePartition(topic: TopicMeta, old: PartitionMeta, incarnation: bigint, first: bigint): void {
		this.#makePartition(topic, { id: old.id, createdAt: old.createdAt, incarnation, first });
		this.#partitions.remove(old);
	}

	#firstOffset(stream: string, topic: string, partition: number): bigint {
		return (
			this.#firstOffsets.get(JSON.stringify([stream, topic, partition])) ??
			this.#firstOffsets.get(JSON.stringify([stream, topic, 'all'])) ??
			0n
		);
	}
}
