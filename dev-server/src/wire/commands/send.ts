import { batchChecksumOf, batchProducer, verifyBatch } from '../../log/batch.js';
import type { TopicMeta } from '../../log/catalog_model.js';
import { hash32 } from '../../log/hash.js';
import type { Partition } from '../../log/partition.js';
import { BodyError, BodyReader, BodyWriter, type Partitioning } from '../body.js';
import { type Call, readTopic } from '../call.js';
import { Refusal, Status } from '../codes.js';
import { checkContext, writeRefusals } from './target.js';

const LAST_OFFSET = 0xffff_ffff_ffff_ffffn;

interface Target {
	topic: TopicMeta;
	partition: Partition;
	count: number;
	partitioning: Partitioning;
}

export function send(call: Call): Buffer {
	const { body, services, dialect } = call;
	const { topic, partition, count, partitioning } = readTarget(call);
	const meta = topic.partitions[partition.id]!;
	checkContext(dialect, meta, call.header);
	const batch = body.rest();
	const fault = verifyBatch(batch, count, dialect.contexts);
	if (fault === 'message checksum') throw new Refusal(Status.invalidMessageChecksum);
	if (fault === 'batch checksum') throw new Refusal(Status.invalidBatchChecksum);
	if (fault) throw new Refusal(Status.invalidCommand);
	const confirm = (base: bigint): Buffer =>
		new BodyWriter().u32(1).u32(topic.streamId).u32(topic.id).u32(partition.id).u64(base).done();
	const producer = batchProducer(batch);
	const checksum = batchChecksumOf(batch);
	if (producer) {
		if (partitioning.by !== 'partition') throw new Refusal(Status.partitionRequired);
		const before = services.producers.written(meta, producer, checksum);
		if (before !== undefined) return confirm(before);
	}
	if (LAST_OFFSET - partition.end + 1n < BigInt(count)) throw new Refusal(Status.invalidOffset);
	const base = services.log.appendBatch(topic, partition, batch, count);
	if (producer) services.producers.wrote(meta, producer, count, checksum, base);
	return confirm(base);
}

function readTarget(call: Call): Target {
	const refusals = writeRefusals(call.dialect);
	const { body } = call;
	const metadata = body.take(body.u32());
	const fields = { ...call, body: new BodyReader(metadata) };
	try {
		const { topic } = readTopic(fields, refusals);
		const partitioning = fields.body.partitioning();
		const id = choosePartition(call, topic, partitioning, refusals.partition);
		const count = fields.body.u32();
		fields.body.end();
		const partition = call.services.log.partition(topic, id);
		if (!partition) throw refusals.partition;
		return { topic, partition, count, partitioning };
	} catch (error) {
		// Metadata that cannot be decoded is answered like a target that does not exist.
		if (error instanceof BodyError && !call.dialect.contexts) throw refusals.partition;
		throw error;
	}
}

function choosePartition(call: Call, topic: TopicMeta, partitioning: Partitioning, missing: Refusal): number {
	if (partitioning.by === 'partition') return partitioning.id;
	if (topic.partitions.length === 0) throw missing;
	if (partitioning.by === 'key') return hash32(partitioning.key) % topic.partitions.length;
	return call.services.nextBalanced(topic);
}
