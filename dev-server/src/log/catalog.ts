import type {
	CatalogEvent,
	GroupMeta,
	PartitionMeta,
	StreamMeta,
	TokenMeta,
	TopicMeta,
} from './catalog_model.js';

/** What the server knows besides records: pure state, changed only by events, so that a replay rebuilds it. */
export class Catalog {
	readonly streams = new Map<number, StreamMeta>();
	readonly users = new Map<string, number>();
	tokens: TokenMeta[] = [];
	nextStreamId = 0;
	nextUserId = 0;
	/** Highest commit number that a restart must not give out again. */
	commit = 0n;
	/** Latest creation time seen. */
	latest = 0n;

	stream(id: number): StreamMeta | undefined {
		return this.streams.get(id);
	}

	streamByName(name: string): StreamMeta | undefined {
		for (const stream of this.streams.values()) if (stream.name === name) return stream;
		return undefined;
	}

	topicByName(stream: StreamMeta, name: string): TopicMeta | undefined {
		for (const topic of stream.topics.values()) if (topic.name === name) return topic;
		return undefined;
	}

	groupByName(topic: TopicMeta, name: string): GroupMeta | undefined {
		for (const group of topic.groups.values()) if (group.name === name) return group;
		return undefined;
	}

	apply(event: CatalogEvent): void {
		switch (event.on) {
			case 'counters':
				this.nextStreamId = Math.max(this.nextStreamId, event.stream);
				this.nextUserId = Math.max(this.nextUserId, event.user);
				this.commit = BigInt(event.commit);
				return;
			case 'stream+':
				this.#seen(event.at);
				this.nextStreamId = Math.max(this.nextStreamId, event.id + 1);
				this.streams.set(event.id, {
					id: event.id,
					name: event.name,
					createdAt: BigInt(event.at),
					topics: new Map(),
					nextTopicId: event.nextTopic ?? 0,
				});
				return;
			case 'stream=':
				this.streams.get(event.id)!.name = event.name;
				return;
			case 'stream-':
				this.streams.delete(event.id);
				return;
			case 'topic+': {
				this.#seen(event.at);
				const stream = this.streams.get(event.stream)!;
				stream.nextTopicId = Math.max(stream.nextTopicId, event.id + 1);
				stream.topics.set(event.id, {
					id: event.id,
					streamId: event.stream,
					name: event.name,
					createdAt: BigInt(event.at),
					options: Buffer.from(event.options, 'base64'),
					messageExpiry: BigInt(event.expiry),
					maxTopicSize: BigInt(event.size),
					compression: event.compression,
					segmentBytes: BigInt(event.segment),
					partitions: [],
					groups: new Map(),
					nextGroupId: event.nextGroup ?? 0,
				});
				return;
			}
			case 'topic=': {
				const topic = this.#topic(event.stream, event.id);
				topic.name = event.name;
				topic.messageExpiry = BigInt(event.expiry);
				topic.maxTopicSize = BigInt(event.size);
				topic.compression = event.compression;
				topic.options = Buffer.from(event.options, 'base64');
				return;
			}
			case 'topic-':
				this.streams.get(event.stream)!.topics.delete(event.id);
				return;
			case 'partition+': {
				this.#seen(event.at);
				this.#seen(event.epoch);
				const partitions = this.#topic(event.stream, event.topic).partitions;
				partitions[event.id] = {
					id: event.id,
					createdAt: BigInt(event.at),
					epoch: BigInt(event.epoch),
					incarnation: BigInt(event.incarnation ?? 1),
					firstOffset: BigInt(event.first),
					start: BigInt(event.start),
					offsets: new Map(),
				};
				return;
			}
			case 'partition-':
				this.#topic(event.stream, event.topic).partitions.length = event.id;
				return;
			case 'trim':
				this.#partition(event).start = BigInt(event.start);
				return;
			case 'offset':
				this.#partition(event).offsets.set(event.consumer, BigInt(event.at));
				return;
			case 'offset-':
				this.#partition(event).offsets.delete(event.consumer);
				return;
			case 'group+': {
				const topic = this.#topic(event.stream, event.topic);
				topic.nextGroupId = Math.max(topic.nextGroupId, event.id + 1);
				topic.groups.set(event.id, { id: event.id, name: event.name });
				return;
			}
			case 'group-':
				this.#topic(event.stream, event.topic).groups.delete(event.id);
				return;
			case 'user+':
				this.nextUserId = Math.max(this.nextUserId, event.id + 1);
				this.users.set(event.name, event.id);
				return;
			case 'token+':
				this.tokens.push({
					name: event.name,
					userId: event.user,
					digest: event.digest,
					expiresAt: BigInt(event.expires),
				});
				return;
			case 'token-':
				this.tokens = this.tokens.filter((one) => one.userId !== event.user || one.name !== event.name);
		}
	}

	#seen(at: string): void {
		const time = BigInt(at);
		if (time > this.latest) this.latest = time;
	}

	#topic(streamId: number, topicId: number): TopicMeta {
		return this.streams.get(streamId)!.topics.get(topicId)!;
	}

	#partition(at: { stream: number; topic: number; partition: number }): PartitionMeta {
		return this.#topic(at.stream, at.topic).partitions[at.partition]!;
	}
}
