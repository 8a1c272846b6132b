import { NEVER, type TopicMeta } from './catalog_model.js';
import type { Partition } from './partition.js';

export interface Trimmable {
	partition(topic: TopicMeta, id: number): Partition | undefined;
	trimPartition(topic: TopicMeta, id: number, before: bigint): bigint;
}

/** Drops what a topic's `message_expiry` and `max_topic_size` no longer want, whole batches at a time. */
export function enforceRetention(
	log: Trimmable,
	topic: TopicMeta,
	nowMicros: number,
	defaultExpiryMicros: number | undefined,
): void {
	const partitions = topic.partitions.map((meta) => log.partition(topic, meta.id)!);
	const own =
		topic.messageExpiry === NEVER || topic.messageExpiry === 0n ? undefined : Number(topic.messageExpiry);
	const expiry = own ?? defaultExpiryMicros;
	if (expiry) {
		const oldest = BigInt(Math.max(0, Math.ceil(nowMicros - expiry)));
		for (const partition of partitions) {
			const before = partition.offsetAt(oldest);
			if (before > partition.start) log.trimPartition(topic, partition.id, before);
		}
	}
	if (topic.maxTopicSize === NEVER || topic.maxTopicSize === 0n) return;
	let size = partitions.reduce((sum, partition) => sum + partition.retainedBytes, 0);
	while (size > Number(topic.maxTopicSize)) {
		const oldest = oldestBatch(partitions);
		if (!oldest) return;
		log.trimPartition(topic, oldest.id, oldest.nextOffset);
		size -= oldest.bytes;
	}
}

function oldestBatch(
	partitions: readonly Partition[],
): { id: number; nextOffset: bigint; bytes: number } | undefined {
	let found: { id: number; micros: number; nextOffset: bigint; bytes: number } | undefined;
	for (const partition of partitions) {
		const candidate = partition.oldest();
		if (candidate && (!found || candidate.micros < found.micros)) found = { id: partition.id, ...candidate };
	}
	return found;
}
