import type { PartitionMeta, TopicMeta } from '../../log/catalog_model.js';
import { BodyWriter } from '../body.js';
import { type Call, readTopic } from '../call.js';
import { Refusal, Status } from '../codes.js';
import { checkContext, consumerKey, membership, writeRefusals } from './target.js';

const OFFSETS_PER_PARTITION = 8192;

export function storeOffset(
	call: Call,
	topic: TopicMeta,
	meta: PartitionMeta,
	consumer: string,
	at: bigint,
): void {
	const stored = meta.offsets.get(consumer);
	if (stored === at) return;
	if (stored === undefined && meta.offsets.size >= OFFSETS_PER_PARTITION)
		throw new Refusal(Status.tooManyOffsets);
	call.services.log.record({
		on: 'offset',
		stream: topic.streamId,
		topic: topic.id,
		partition: meta.id,
		consumer,
		at: at.toString(),
	});
}

export function getOffset(call: Call): Buffer {
	const consumer = call.body.consumer(call.dialect.contexts ? 3 : 2);
	const missing = new Refusal(0);
	let topic: TopicMeta;
	try {
		({ topic } = readTopic(call, { stream: missing, topic: missing }));
	} catch (error) {
		if (error === missing) return Buffer.alloc(0);
		throw error;
	}
	const id = call.body.optionalPartition() ?? 0;
	call.body.end();
	const meta = topic.partitions[id];
	if (!meta) throw new Refusal(Status.partitionNotFound);
	checkContext(call.dialect, meta, call.header, membership(call, topic, consumer)?.generation);
	const stored = meta.offsets.get(consumerKey(call, topic, consumer));
	if (stored === undefined) return Buffer.alloc(0);
	const current = call.services.log.partition(topic, id)!.current;
	return new BodyWriter().u32(id).u64(current).u64(stored).done();
}

function offsetTarget(call: Call): { topic: TopicMeta; meta: PartitionMeta; key: string } {
	const consumer = call.body.consumer(call.dialect.contexts ? 3 : 2);
	const refusals = writeRefusals(call.dialect);
	const { topic } = readTopic(call, refusals);
	const id = call.body.optionalPartition();
	const meta = id === undefined ? undefined : topic.partitions[id];
	if (!meta) throw refusals.partition;
	checkContext(call.dialect, meta, call.header, membership(call, topic, consumer)?.generation);
	return { topic, meta, key: consumerKey(call, topic, consumer) };
}

function readAck(call: Call): void {
	if (call.body.u8() > 1) throw new Refusal(Status.invalidCommand);
	call.body.end();
}

export function storeConsumerOffset(call: Call): Buffer {
	const { topic, meta, key } = offsetTarget(call);
	const at = call.body.u64();
	readAck(call);
	if (at > call.services.log.partition(topic, meta.id)!.current) throw new Refusal(Status.invalidOffset);
	storeOffset(call, topic, meta, key, at);
	return Buffer.alloc(0);
}

export function deleteConsumerOffset(call: Call): Buffer {
	const { topic, meta, key } = offsetTarget(call);
	readAck(call);
	if (!meta.offsets.has(key)) throw new Refusal(Status.offsetNotFound);
	call.services.log.record({
		on: 'offset-',
		stream: topic.streamId,
		topic: topic.id,
		partition: meta.id,
		consumer: key,
	});
	return Buffer.alloc(0);
}
