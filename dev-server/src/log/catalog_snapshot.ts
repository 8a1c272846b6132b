import type { Catalog } from './catalog.js';
import type { CatalogEvent, TopicMeta } from './catalog_model.js';

/** The events that rebuild a catalog from nothing. */
export function* snapshot(catalog: Catalog): Generator<CatalogEvent> {
	yield {
		on: 'counters',
		stream: catalog.nextStreamId,
		user: catalog.nextUserId,
		commit: catalog.commit.toString(),
	};
	for (const [name, id] of catalog.users) yield { on: 'user+', id, name };
	for (const token of catalog.tokens) {
		yield {
			on: 'token+',
			user: token.userId,
			name: token.name,
			digest: token.digest,
			expires: token.expiresAt.toString(),
		};
	}
	for (const stream of catalog.streams.values()) {
		yield {
			on: 'stream+',
			id: stream.id,
			name: stream.name,
			at: stream.createdAt.toString(),
			nextTopic: stream.nextTopicId,
		};
		for (const topic of stream.topics.values()) yield* topicEvents(topic);
	}
}

function* topicEvents(topic: TopicMeta): Generator<CatalogEvent> {
	const where = { stream: topic.streamId, topic: topic.id };
	yield {
		on: 'topic+',
		stream: topic.streamId,
		id: topic.id,
		name: topic.name,
		at: topic.createdAt.toString(),
		options: topic.options.toString('base64'),
		expiry: topic.messageExpiry.toString(),
		size: topic.maxTopicSize.toString(),
		compression: topic.compression,
		segment: topic.segmentBytes.toString(),
		nextGroup: topic.nextGroupId,
	};
	for (const partition of topic.partitions) {
		yield {
			on: 'partition+',
			...where,
			id: partition.id,
			at: partition.createdAt.toString(),
			epoch: partition.epoch.toString(),
			incarnation: partition.incarnation.toString(),
			first: partition.firstOffset.toString(),
			start: partition.start.toString(),
		};
		for (const [consumer, at] of partition.offsets) {
			yield { on: 'offset', ...where, partition: partition.id, consumer, at: at.toString() };
		}
	}
	for (const group of topic.groups.values()) yield { on: 'group+', ...where, ...group };
}
