/** What the server knows besides records: pure state, changed only by events, so that a replay rebuilds it. */

export const NEVER = 0xffff_ffff_ffff_ffffn;

export interface PartitionMeta {
	id: number;
	createdAt: bigint;
	/** Names the folder; a purge gives the partition a new one. */
	epoch: bigint;
	firstOffset: bigint;
	start: bigint;
	/** Stored offsets by consumer key. */
	offsets: Map<string, bigint>;
}

export interface GroupMeta {
	id: number;
	name: string;
}

export interface TopicMeta {
	id: number;
	streamId: number;
	name: string;
	createdAt: bigint;
	/** Raw options block as the creator sent it. */
	options: Buffer;
	messageExpiry: bigint;
	maxTopicSize: bigint;
	compression: number;
	segmentBytes: bigint;
	partitions: PartitionMeta[];
	groups: Map<number, GroupMeta>;
	nextGroupId: number;
}

export interface StreamMeta {
	id: number;
	name: string;
	createdAt: bigint;
	topics: Map<number, TopicMeta>;
	nextTopicId: number;
}

export interface TokenMeta {
	name: string;
	userId: number;
	/** Hex SHA-256 of the token: the token itself is shown once and never kept. */
	digest: string;
	/** Microseconds since the epoch; 0 = never. */
	expiresAt: bigint;
}

/** 64-bit numbers travel as decimal text: the events are kept as JSON. */
export type CatalogEvent =
	| { on: 'counters'; stream: number; commit: string; user: number }
	| { on: 'stream+'; id: number; name: string; at: string; nextTopic?: number }
	| { on: 'stream='; id: number; name: string }
	| { on: 'stream-'; id: number }
	| {
			on: 'topic+';
			stream: number;
			id: number;
			name: string;
			at: string;
			options: string;
			expiry: string;
			size: string;
			compression: number;
			segment: string;
			nextGroup?: number;
	  }
	| {
			on: 'topic=';
			stream: number;
			id: number;
			name: string;
			expiry: string;
			size: string;
			compression: number;
			options: string;
	  }
	| { on: 'topic-'; stream: number; id: number }
	| {
			on: 'partition+';
			stream: number;
			topic: number;
			id: number;
			at: string;
			epoch: string;
			first: string;
			start: string;
	  }
	| { on: 'partition-'; stream: number; topic: number; id: number }
	| { on: 'trim'; stream: number; topic: number; partition: number; start: string }
	| { on: 'offset'; stream: number; topic: number; partition: number; consumer: string; at: string }
	| { on: 'offset-'; stream: number; topic: number; partition: number; consumer: string }
	| { on: 'group+'; stream: number; topic: number; id: number; name: string }
	| { on: 'group-'; stream: number; topic: number; id: number }
	| { on: 'user+'; id: number; name: string }
	| { on: 'token+'; user: number; name: string; digest: string; expires: string }
	| { on: 'token-'; user: number; name: string };

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

	/** The events that rebuild this state from nothing. */
	*snapshot(): Generator<CatalogEvent> {
		yield {
			on: 'counters',
			stream: this.nextStreamId,
			user: this.nextUserId,
			commit: this.commit.toString(),
		};
		for (const [name, id] of this.users) yield { on: 'user+', id, name };
		for (const token of this.tokens) {
			yield {
				on: 'token+',
				user: token.userId,
				name: token.name,
				digest: token.digest,
				expires: token.expiresAt.toString(),
			};
		}
		for (const stream of this.streams.values()) {
			yield {
				on: 'stream+',
				id: stream.id,
				name: stream.name,
				at: stream.createdAt.toString(),
				nextTopic: stream.nextTopicId,
			};
			for (const topic of stream.topics.values()) yield* this.#topicEvents(topic);
		}
	}

	*#topicEvents(topic: TopicMeta): Generator<CatalogEvent> {
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
				first: partition.firstOffset.toString(),
				start: partition.start.toString(),
			};
			for (const [consumer, at] of partition.offsets) {
				yield { on: 'offset', ...where, partition: partition.id, consumer, at: at.toString() };
			}
		}
		for (const group of topic.groups.values()) yield { on: 'group+', ...where, ...group };
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
