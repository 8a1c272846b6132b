/** The shapes of what the server knows besides records, and the events that change it. */

export const NEVER = 0xffff_ffff_ffff_ffffn;

export interface PartitionMeta {
	id: number;
	createdAt: bigint;
	/** Names the folder; a purge gives the partition a new one. */
	epoch: bigint;
	/** Commit number of its creation or last purge: tells a partition from an earlier one of the same number. */
	incarnation: bigint;
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
			/** Absent in folders written before partitions had one. */
			incarnation?: string;
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
