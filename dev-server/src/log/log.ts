import { join } from 'node:path';
import type { AppendEvent, NewRecord, PlaneLog, StoredRecord } from '../contract.js';
import { buildBatch, readRecords } from './batch.js';
import {
	Catalog,
	type CatalogEvent,
	NEVER,
	type PartitionMeta,
	type StreamMeta,
	type TopicMeta,
} from './catalog.js';
import { Clock } from './clock.js';
import { lockFolder } from './folder_lock.js';
import { partitionFolder, removeStrayFolders } from './folders.js';
import { FileJournal, type Journal, MemoryJournal } from './journal.js';
import { Partition } from './partition.js';
import { enforceRetention } from './retention.js';
import { DiskFolder, MemoryFolder, type SegmentFolder } from './segment_folder.js';

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

const DISK_SEGMENT = 64 << 20;
const MEMORY_SEGMENT = 8 << 20;
const DEFAULT_SEGMENT = 1n << 30n;
const COMMITS_RESERVED = 65_536n;
const READ_BYTES = 32 << 20;

/** Streams, topics, partitions, their records and the stored offsets. Everything here is on disk when it returns. */
export class Log implements PlaneLog {
	readonly catalog = new Catalog();
	readonly #options: LogOptions;
	readonly #journal: Journal<CatalogEvent>;
	readonly #clock = new Clock();
	readonly #partitions = new Map<PartitionMeta, Partition>();
	readonly #appendListeners: ((event: AppendEvent) => void)[] = [];
	readonly #deleteListeners: ((stream: string, topic: string) => void)[] = [];
	readonly #firstOffsets = new Map<string, bigint>();
	readonly #release: () => void;
	#commit: bigint;
	#commitsReserved: bigint;

	constructor(options: LogOptions = {}) {
		this.#options = options;
		this.#release = options.dataDir ? lockFolder(options.dataDir) : () => {};
		try {
			this.#journal = options.dataDir
				? new FileJournal(join(options.dataDir, 'log'), () => this.catalog.snapshot(), options.fsync === true)
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
		for (const meta of topic.partitions) this.#remove(meta);
		for (const listener of this.#deleteListeners) listener(stream.name, topic.name);
	}

	addPartitions(topic: TopicMeta, count: number, createdAt = this.now()): void {
		const stream = this.catalog.stream(topic.streamId)!;
		for (let made = 0; made < count; made++) {
			const id = topic.partitions.length;
			const first = this.#firstOffset(stream.name, topic.name, id).toString();
			const at = createdAt.toString();
			const epoch = this.now().toString();
			this.record({
				on: 'partition+',
				stream: stream.id,
				topic: topic.id,
				id,
				at,
				epoch,
				first,
				start: first,
			});
			const meta = topic.partitions[id]!;
			this.#partitions.set(meta, this.#open(topic, meta));
		}
	}

	/** Removes the highest partition ids. */
	removePartitions(topic: TopicMeta, count: number): void {
		for (let removed = 0; removed < count; removed++) {
			const meta = topic.partitions.at(-1)!;
			this.record({ on: 'partition-', stream: topic.streamId, topic: topic.id, id: meta.id });
			this.#remove(meta);
		}
	}

	/** Forgets all records and stored offsets; offsets start again, ids and creation times stay. */
	purgeTopic(topic: TopicMeta): void {
		for (const meta of [...topic.partitions]) {
			const first = meta.firstOffset.toString();
			this.record({
				on: 'partition+',
				stream: topic.streamId,
				topic: topic.id,
				id: meta.id,
				at: meta.createdAt.toString(),
				epoch: this.now().toString(),
				first,
				start: first,
			});
			this.#remove(meta);
			const fresh = topic.partitions[meta.id]!;
			this.#partitions.set(fresh, this.#open(topic, fresh));
		}
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
			this.record({
				on: 'partition+',
				stream: meta!.streamId,
				topic: meta!.id,
				id: one.id,
				at: one.createdAt.toString(),
				epoch: this.now().toString(),
				first: offset.toString(),
				start: offset.toString(),
			});
			this.#remove(one);
			const fresh = meta!.partitions[one.id]!;
			this.#partitions.set(fresh, this.#open(meta!, fresh));
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

	close(): void {
		for (const partition of this.#partitions.values()) partition.close();
		this.#journal.close();
		this.#release();
	}

	// The part that the plane and the embedding program use: names instead of ids.

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

	onAppend(listener: (event: AppendEvent) => void): void {
		this.#appendListeners.push(listener);
	}

	onTopicDeleted(listener: (stream: string, topic: string) => void): void {
		this.#deleteListeners.push(listener);
	}

	#named(stream: string, topic: string, id: number): { topic: TopicMeta; partition: Partition } {
		const found = this.findTopic(stream, topic);
		const partition = found && this.partition(found, id);
		if (!found || !partition) throw new Error(`no partition ${id} of ${stream}/${topic}`);
		return { topic: found, partition };
	}

	#load(): void {
		this.#journal.load((event) => this.catalog.apply(event));
		if (this.#options.dataDir) removeStrayFolders(this.#options.dataDir, this.catalog);
		for (const stream of this.catalog.streams.values()) {
			for (const topic of stream.topics.values()) {
				for (const meta of topic.partitions) this.#partitions.set(meta, this.#open(topic, meta));
			}
		}
	}

	#firstOffset(stream: string, topic: string, partition: number): bigint {
		return (
			this.#firstOffsets.get(JSON.stringify([stream, topic, partition])) ??
			this.#firstOffsets.get(JSON.stringify([stream, topic, 'all'])) ??
			0n
		);
	}

	#remove(meta: PartitionMeta): void {
		this.#partitions.get(meta)?.remove();
		this.#partitions.delete(meta);
	}

	#open(topic: TopicMeta, meta: PartitionMeta): Partition {
		const cap = this.#options.dataDir ? DISK_SEGMENT : MEMORY_SEGMENT;
		const folder: SegmentFolder = this.#options.dataDir
			? new DiskFolder(partitionFolder(this.#options.dataDir, topic, meta))
			: new MemoryFolder();
		return new Partition(folder, {
			id: meta.id,
			createdAt: meta.createdAt,
			firstOffset: meta.firstOffset,
			start: meta.start,
			segmentBytes: Math.min(cap, Number(topic.segmentBytes)),
			fsync: this.#options.fsync === true,
		});
	}
}
