import type { StreamMeta, TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';

export interface Totals {
	bytes: bigint;
	messages: bigint;
}

export function topicTotals(topic: TopicMeta, log: Log): Totals {
	let bytes = 0;
	let messages = 0n;
	for (const meta of topic.partitions) {
		const partition = log.partition(topic, meta.id)!;
		bytes += partition.retainedBytes;
		messages += partition.messages;
	}
	return { bytes: BigInt(bytes), messages };
}

export function streamTotals(stream: StreamMeta, log: Log): Totals {
	const sum = { bytes: 0n, messages: 0n };
	for (const topic of stream.topics.values()) {
		const { bytes, messages } = topicTotals(topic, log);
		sum.bytes += bytes;
		sum.messages += messages;
	}
	return sum;
}
