/** A log in memory for the plane's tests. It outlives the plane, as a log on disk outlives a server process. */
import type { AppendEvent, NewRecord, PlaneLog, StoredRecord } from '../../src/contract.js';

interface Topic {
	createdAt: bigint;
	partitions: { start: bigint; records: StoredRecord[] }[];
}

let clock = 1_700_000_000_000_000n;

export class MemoryLog implements PlaneLog {
	readonly #streams = new Map<string, Map<string, Topic>>();
	#appendListeners: ((event: AppendEvent) => void)[] = [];
	#deleteListeners: ((stream: string, topic: string) => void)[] = [];

	/** Forgets the listeners of a plane that went away without closing. */
	detach(): void {
		this.#appendListeners = [];
		this.#deleteListeners = [];
	}

	async ensureStream(stream: string): Promise<void> {
		if (!this.#streams.has(stream)) this.#streams.set(stream, new Map());
	}

	async ensureTopic(stream: string, topic: string, partitions: number): Promise<void> {
		await this.ensureStream(stream);
		const topics = this.#streams.get(stream)!;
		if (topics.has(topic)) return;
		topics.set(topic, {
			createdAt: ++clock,
			partitions: Array.from({ length: partitions }, () => ({ start: 0n, records: [] })),
		});
	}

	deleteTopic(stream: string, topic: string): void {
		this.#streams.get(stream)?.delete(topic);
		for (const listener of this.#deleteListeners) listener(stream, topic);
	}

	trim(stream: string, topic: string, partitionId: number, start: bigint): void {
		const partition = this.partition(stream, topic, partitionId);
		partition.records = partition.records.filter((record) => record.offset >= start);
		partition.start = start;
	}

	/** As after a power cut: the last records were never on the disk. */
	loseTail(stream: string, topic: string, partitionId: number, count: number): void {
		this.partition(stream, topic, partitionId).records.splice(-count);
	}

	private topic(stream: string, topic: string): Topic | undefined {
		return this.#streams.get(stream)?.get(topic);
	}

	private partition(stream: string, topic: string, partitionId: number) {
		const partition = this.topic(stream, topic)?.partitions[partitionId];
		if (partition === undefined) throw new Error(`no partition ${stream}/${topic}/${partitionId}`);
		return partition;
	}

	partitionCount(stream: string, topic: string): number | undefined {
		return this.topic(stream, topic)?.partitions.length;
	}

	topicCreatedAtMicros(stream: string, topic: string): bigint | undefined {
		return this.topic(stream, topic)?.createdAt;
	}

	end(stream: string, topic: string, partitionId: number): bigint {
		const { start, records } = this.partition(stream, topic, partitionId);
		return start + BigInt(records.length);
	}

	start(stream: string, topic: string, partitionId: number): bigint {
		return this.partition(stream, topic, partitionId).start;
	}

	async read(stream: string, topic: string, partitionId: number, from: bigint, count: number) {
		const { start, records } = this.partition(stream, topic, partitionId);
		const first = Number(from < start ? 0n : from - start);
		return records.slice(first, first + count);
	}

	async append(stream: string, topic: string, partitionId: number, records: NewRecord[]): Promise<bigint> {
		const partition = this.partition(stream, topic, partitionId);
		const baseOffset = partition.start + BigInt(partition.records.length);
		const now = BigInt(Date.now()) * 1000n;
		for (const [i, record] of records.entries()) {
			partition.records.push({
				offset: baseOffset + BigInt(i),
				timestampMicros: now,
				payload: record.payload,
				headers: record.headers ?? new Uint8Array(),
			});
		}
		const event = { stream, topic, partitionId, baseOffset, count: records.length };
		for (const listener of this.#appendListeners) listener(event);
		return baseOffset;
	}

	onAppend(listener: (event: AppendEvent) => void): void {
		this.#appendListeners.push(listener);
	}

	onTopicDeleted(listener: (stream: string, topic: string) => void): void {
		this.#deleteListeners.push(listener);
	}
}
