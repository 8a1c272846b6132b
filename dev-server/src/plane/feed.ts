/**
 * The change feed: one record per committed batch of a notifying binding. A record's feed partition is chosen by its
 * index (FNV-1a over the UTF-8 name, modulo the partition count), so one index keeps its order.
 */
import type { PlaneLog } from '../contract.js';
import { encodeCbor } from './wire/cbor.js';

export const OPS_STREAM = '_agdx';
export const CHANGES_TOPIC = 'changes';

/** Rows of a created index come from no topic: its changes and frontiers name this stream and `createdTopic`. */
export const CREATED_STREAM = OPS_STREAM;

export function createdTopic(index: string): string {
	return `index/${index}`;
}

export interface Change {
	index: string;
	partitionId: number;
	fromOffset: bigint;
	toOffset: bigint;
	rows: number;
	sourceStream: string;
}

export function splitScoped(name: string): { stream: string; local: string } | undefined {
	const match = /^stream:([^/]+)\/(.+)$/s.exec(name);
	return match === null ? undefined : { stream: match[1]!, local: match[2]! };
}

export function feedPartition(index: string, partitions: number): number {
	let hash = 0x811c9dc5;
	for (const byte of Buffer.from(index, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return hash % partitions;
}

export function encodeChange(change: Change, withStream: boolean): Uint8Array {
	return encodeCbor({
		v: 1n,
		index: change.index,
		partition_id: BigInt(change.partitionId),
		from_offset: change.fromOffset,
		to_offset: change.toOffset,
		rows: BigInt(change.rows),
		stream: withStream ? change.sourceStream : undefined,
	});
}

export class Feed {
	constructor(
		private readonly log: PlaneLog,
		private readonly partitions: number,
		private readonly tenancy: boolean,
	) {}

	async open(): Promise<void> {
		await this.log.ensureStream(OPS_STREAM);
		await this.log.ensureTopic(OPS_STREAM, CHANGES_TOPIC, this.partitions);
	}

	topicFor(index: string): string {
		const scoped = this.tenancy ? splitScoped(index) : undefined;
		return scoped === undefined ? CHANGES_TOPIC : `stream:${scoped.stream}/_agdx/changes`;
	}

	/** Makes sure that an index has its feed topic before anything reads it. */
	async prepare(index: string): Promise<void> {
		await this.log.ensureTopic(OPS_STREAM, this.topicFor(index), this.partitions);
	}

	async publish(change: Change): Promise<void> {
		await this.append(change.index, [encodeChange(change, this.tenancy)]);
	}

	/** Payloads as they are; tests publish broken ones through here. */
	async append(index: string, payloads: Uint8Array[]): Promise<void> {
		const topic = this.topicFor(index);
		// A feed topic that somebody deleted comes back with the next change.
		await this.prepare(index);
		const partitions = this.log.partitionCount(OPS_STREAM, topic) ?? this.partitions;
		await this.log.append(
			OPS_STREAM,
			topic,
			feedPartition(index, partitions),
			payloads.map((payload) => ({ payload })),
		);
	}
}
