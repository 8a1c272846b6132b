import type { StreamMeta, TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import type { BodyWriter } from './body.js';
import type { VersionWindow } from './frame.js';
import type { OptionSpec } from './option_block.js';

export type LoginBody = { by: 'password'; user: string; password: string } | { by: 'token'; token: string };

export interface ClusterNode {
	name: string;
	ip: string;
	tcp: number;
	http: number;
	websocket: number;
}

/** Everything that differs between protocol versions. A connection holds the one that its login chose. */
export interface Dialect {
	readonly name: string;
	readonly window: VersionWindow;
	/** Whether a client of this packed version speaks it. */
	accepts(version: number): boolean;
	/** Reads a login body behind the version. Throws `BodyError` when it is malformed. */
	readLogin(body: Buffer): LoginBody;
	readonly topicOptions: readonly OptionSpec[];
	/** Whether a repeated partition write of a session is recognised by its number. */
	readonly remembersPartitionWrites: boolean;
	writeStream(to: BodyWriter, stream: StreamMeta, log: Log): void;
	writeTopic(to: BodyWriter, topic: TopicMeta, log: Log): void;
	writePartitions(to: BodyWriter, topic: TopicMeta, log: Log): void;
	writeNode(to: BodyWriter, node: ClusterNode): void;
	writeOption(to: BodyWriter, option: OptionSpec): void;
	/** Bytes in front of the records of a poll reply. */
	readonly pollPrefixLength: number;
	writePollPrefix(to: Buffer, at: number, poll: { partition: number; current: bigint; count: number }): void;
}
