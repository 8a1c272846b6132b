import { verifyBatch } from '../../log/batch.js';
import type { PartitionMeta, TopicMeta } from '../../log/catalog_model.js';
import { hash32 } from '../../log/hash.js';
import type { Partition } from '../../log/partition.js';
import { BodyReader, BodyWriter, type Consumer, type Partitioning, type Strategy } from '../body.js';
import { type Call, Framed, findGroup, readTopic } from '../call.js';
import { Refusal, Status } from '../codes.js';
import { HEADER, MAX_FRAME } from '../frame.js';

const STALE_ASSIGNMENT = 0xffff_ffff;
const LAST_OFFSET = 0xffff_ffff_ffff_ffffn;
const OFFSETS_PER_PARTITION = 8192;

const unresolved = (): Refusal => new Refusal(Status.resourceNotFound);

export function send(call: Call): Buffer {
	const { body, services } = call;
	const { log } = services;
	const metadata = body.take(body.u32());
	const fields = { ...call, body: new BodyReader(metadata) };
	let target: { topic: TopicMeta; partition: Partition };
	let count: number;
	try {
		const { topic } = readTopic(fields, { stream: unresolved(), topic: unresolved() });
		const id = choosePartition(call, topic, fields.body.partitioning());
		count = fields.body.u32();
		fields.body.end();
		const partition = log.partition(topic, id);
		if (!partition) throw unresolved();
		target = { topic, partition };
	} catch (error) {
		// Metadata that cannot be decoded is answered like a target that does not exist.
		throw error instanceof Refusal ? unresolved() : error;
	}
	const batch = body.rest();
	const fault = verifyBatch(batch, count);
	if (fault === 'message checksum') throw new Refusal(Status.invalidMessageChecksum);
	if (fault === 'batch checksum') throw new Refusal(Status.invalidBatchChecksum);
	if (fault) throw new Refusal(Status.invalidCommand);
	if (LAST_OFFSET - target.partition.end + 1n < BigInt(count)) throw new Refusal(Status.invalidOffset);
	const base = log.appendBatch(target.topic, target.partition, batch, count);
	const reply = new BodyWriter().u32(1).u32(target.topic.streamId).u32(target.topic.id);
	return reply.u32(target.partition.id).u64(base).done();
}

function choosePartition(call: Call, topic: TopicMeta, partitioning: Partitioning): number {
	if (partitioning.by === 'partition') return partitioning.id;
	if (topic.partitions.length === 0) throw unresolved();
	if (partitioning.by === 'key') return hash32(partitioning.key) % topic.partitions.length;
	return call.services.nextBalanced(topic);
}

export function poll(call: Call): Framed {
	const { body, services, dialect } = call;
	const consumer = body.consumer();
	const { topic } = readTopic(call, {
		stream: new Refusal(Status.streamNotFound),
		topic: new Refusal(Status.topicNotFound),
	});
	const named = body.optionalPartition();
	const strategy = body.strategy();
	const count = body.u32();
	const autoCommit = body.u8();
	body.end();
	if (autoCommit > 1) throw new Refusal(Status.invalidCommand);
	const key = consumerKey(call, topic, consumer);
	if (consumer.kind === 2) {
		if (named === undefined) throw new Refusal(Status.invalidCommand);
		const group = findGroup(services.log, topic, consumer.id)!;
		const assignment = services.groups.assignment(topic, group, call.connectionId);
		if (!assignment) throw new Refusal(Status.partitionNotOwned);
		if (!assignment.partitions.includes(named)) return emptyPoll(call, STALE_ASSIGNMENT, 0n);
	}
	const meta = topic.partitions[named ?? 0];
	const partition = meta && services.log.partition(topic, meta.id);
	if (!meta || !partition) throw new Refusal(Status.partitionNotFound);
	const from = startOf(partition, meta, strategy, key, count);
	if (from === undefined) return emptyPoll(call, meta.id, partition.current);
	const headroom = HEADER + dialect.pollPrefixLength;
	const read = partition.read(from, count, MAX_FRAME - headroom, headroom);
	if (autoCommit === 1 && read.last !== undefined) storeOffset(call, topic, meta, key, read.last);
	const prefix = { partition: meta.id, current: partition.current, count: read.count };
	dialect.writePollPrefix(read.bytes, HEADER, prefix);
	return new Framed(read.bytes);
}

function emptyPoll(call: Call, partition: number, current: bigint): Framed {
	const frame = Buffer.alloc(HEADER + call.dialect.pollPrefixLength);
	call.dialect.writePollPrefix(frame, HEADER, { partition, current, count: 0 });
	return new Framed(frame);
}

/** Where a poll begins; undefined when it lies behind the last possible offset. */
function startOf(
	partition: Partition,
	meta: PartitionMeta,
	strategy: Strategy,
	key: string,
	count: number,
): bigint | undefined {
	switch (strategy.kind) {
		case 1:
			return strategy.value;
		case 2:
			return partition.offsetAt(strategy.value);
		case 3:
			return 0n;
		case 4: {
			const wanted = BigInt(count);
			return partition.messages < wanted ? partition.start : partition.end - wanted;
		}
		default: {
			const stored = meta.offsets.get(key);
			if (stored === undefined) return 0n;
			return stored === LAST_OFFSET ? undefined : stored + 1n;
		}
	}
}

/** Stored offsets belong to a consumer's name or number, or to a group. */
function consumerKey(call: Call, topic: TopicMeta, consumer: Consumer): string {
	if (consumer.kind === 1)
		return 'id' in consumer.id ? `consumer #${consumer.id.id}` : `consumer ${consumer.id.name}`;
	const group = findGroup(call.services.log, topic, consumer.id);
	if (!group) throw new Refusal('id' in consumer.id ? Status.groupNotFound : Status.groupNameNotFound);
	return groupKey(group.id);
}

export function groupKey(groupId: number): string {
	return `group #${groupId}`;
}

function storeOffset(call: Call, topic: TopicMeta, meta: PartitionMeta, consumer: string, at: bigint): void {
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
	const consumer = call.body.consumer();
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
	const stored = meta.offsets.get(consumerKey(call, topic, consumer));
	if (stored === undefined) return Buffer.alloc(0);
	const current = call.services.log.partition(topic, id)!.current;
	return new BodyWriter().u32(id).u64(current).u64(stored).done();
}

function offsetTarget(call: Call): { topic: TopicMeta; meta: PartitionMeta; key: string } {
	const consumer = call.body.consumer();
	const { topic } = readTopic(call, { stream: unresolved(), topic: unresolved() });
	const id = call.body.optionalPartition();
	const meta = id === undefined ? undefined : topic.partitions[id];
	if (!meta) throw unresolved();
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
