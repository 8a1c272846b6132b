import { NEVER, type TopicMeta } from '../../log/catalog_model.js';
import { BodyWriter } from '../body.js';
import { type Call, findStream, findTopic, NOTHING, readTopic } from '../call.js';
import { Refusal, rejected, Status } from '../codes.js';
import { rawOptions, readOptions, writeOptions } from '../option_block.js';

const MAX_PARTITIONS = 1000;

const absent = () => ({ stream: rejected(Status.streamNotFound), topic: rejected(Status.topicNotFound) });

function describe(call: Call, topic: TopicMeta): Buffer {
	const body = new BodyWriter();
	call.dialect.writeTopic(body, topic, call.services.log);
	call.dialect.writePartitions(body, topic, call.services.log);
	return body.done();
}

export function getTopic(call: Call): Buffer {
	const streamId = call.body.identifier();
	const topicId = call.body.identifier();
	call.body.end();
	const stream = findStream(call.services.log, streamId);
	const topic = stream && findTopic(call.services.log, stream, topicId);
	return topic ? describe(call, topic) : NOTHING;
}

export function getTopics(call: Call): Buffer {
	const stream = findStream(call.services.log, call.body.identifier());
	call.body.end();
	const topics = [...(stream?.topics.values() ?? [])];
	const body = new BodyWriter().u32(topics.length);
	for (const topic of topics) call.dialect.writeTopic(body, topic, call.services.log);
	return body.done();
}

interface Settings {
	messageExpiry: bigint;
	maxTopicSize: bigint;
	compression: number;
	segmentBytes: bigint;
	options: Buffer;
}

function readSettings(call: Call): Settings {
	const catalogue = call.dialect.topicOptions;
	const given = readOptions(call.body.rest(), catalogue);
	const number = (key: string, missing: bigint): bigint => (given.get(key) as bigint | undefined) ?? missing;
	const orNever = (value: bigint): bigint => (value === 0n ? NEVER : value);
	const segmentBytes = number('segment_size', 1n << 30n);
	const maxTopicSize = orNever(number('max_topic_size', NEVER));
	if (maxTopicSize < segmentBytes) throw new Refusal(Status.invalidOption);
	return {
		messageExpiry: orNever(number('message_expiry', NEVER)),
		maxTopicSize,
		compression: given.get('compression_algorithm') === 'gzip' ? 2 : 1,
		segmentBytes,
		options: writeOptions(given, catalogue),
	};
}

export function createTopic(call: Call): Buffer {
	const streamId = call.body.identifier();
	const partitions = call.body.u32();
	const name = call.body.name();
	if (partitions > MAX_PARTITIONS) throw new Refusal(Status.tooManyPartitions);
	const settings = readSettings(call);
	const { log } = call.services;
	const stream = findStream(log, streamId);
	if (!stream) throw rejected(Status.streamNotFound);
	if (log.catalog.topicByName(stream, name)) throw rejected(Status.topicNameExists);
	return describe(call, log.createTopic(stream, { name, partitions, ...settings }));
}

export function updateTopic(call: Call): Buffer {
	const { stream, topic } = readTopic(call, absent());
	const name = call.body.name();
	const settings = readSettings(call);
	const { log } = call.services;
	const namesake = log.catalog.topicByName(stream, name);
	if (namesake && namesake !== topic) throw rejected(Status.topicNameExists);
	log.record({
		on: 'topic=',
		stream: stream.id,
		id: topic.id,
		name,
		expiry: settings.messageExpiry.toString(),
		size: settings.maxTopicSize.toString(),
		compression: settings.compression,
		options: settings.options.toString('base64'),
	});
	return NOTHING;
}

export function deleteTopic(call: Call): Buffer {
	const { topic } = readTopic(call, absent());
	call.body.end();
	for (const group of topic.groups.values()) call.services.groups.deleted(group);
	call.services.log.deleteTopic(topic);
	return NOTHING;
}

export function purgeTopic(call: Call): Buffer {
	const { topic } = readTopic(call, absent());
	call.body.end();
	call.services.log.purgeTopic(topic);
	return NOTHING;
}

/** Refuses to add or remove partitions of a topic whose creator fixed their number. */
function checkResizable(topic: TopicMeta): void {
	if (rawOptions(topic.options).get('partition_resize_policy')?.toString() === 'fixed') {
		throw rejected(Status.resizeDisabled);
	}
}

function readCount(call: Call): number {
	const count = call.body.u32();
	call.body.end();
	if (count < 1 || count > MAX_PARTITIONS) throw rejected(Status.badPartitionCount);
	return count;
}

export function createPartitions(call: Call): Buffer {
	const { topic } = readTopic(call, absent());
	const count = readCount(call);
	checkResizable(topic);
	if (topic.partitions.length + count > MAX_PARTITIONS) {
		throw rejected(call.dialect.contexts ? Status.partitionsLimit : Status.badPartitionCount);
	}
	call.services.log.addPartitions(topic, count);
	return NOTHING;
}

export function deletePartitions(call: Call): Buffer {
	const { topic } = readTopic(call, absent());
	const count = readCount(call);
	checkResizable(topic);
	if (count > topic.partitions.length) throw rejected(Status.badPartitionCount);
	call.services.log.removePartitions(topic, count);
	return NOTHING;
}
