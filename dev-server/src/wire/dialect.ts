import type { PartitionMeta, StreamMeta, TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import type { BodyWriter } from './body.js';
import type { RequestHeader, VersionWindow } from './frame.js';
import type { OptionSpec } from './option_block.js';

export type Credentials = { by: 'password'; user: string; password: string } | { by: 'token'; token: string };

export interface LoginBody {
	credentials: Credentials;
	/** What a later connection proves with that the session is its own; only where sessions can be resumed. */
	secret?: Buffer;
}

export interface ClusterNode {
	name: string;
	ip: string;
	tcp: number;
	http: number;
	websocket: number;
}

/** Which partition a partition call means: one of the same number may have been made again since. */
export interface Context {
	incarnation: bigint;
	ownerGeneration: bigint;
	metadataOp: bigint;
}

/** Everything that differs between protocol versions. A connection holds the one that its login chose. */
export interface Dialect {
	readonly name: string;
	readonly window: VersionWindow;
	/** Highest command byte that a frame may carry. */
	readonly lastCommand: number;
	/** Whether a client of this packed version speaks it. */
	accepts(version: number): boolean;
	/** Reads a login body behind the version. Throws `BodyError` when it is malformed. */
	readLogin(body: Buffer): LoginBody;
	/** Whether a request's checksum field holds what it must. */
	stampFits(header: RequestHeader, body: Buffer): boolean;
	readonly topicOptions: readonly OptionSpec[];
	/** How a repeated partition write of a session is recognised. */
	readonly repeats: 'never' | 'by number' | 'by frame';
	/** Partition calls name the incarnation that they mean, and replies say which one it was. */
	readonly contexts: boolean;
	/** Sessions outlive their connection, and requests must name theirs. */
	readonly resumable: boolean;
	/** Replies of a commit carry the marker of one. */
	readonly marksCommits: boolean;
	/** Commands that are not offered in this version. */
	readonly retired: ReadonlySet<number>;
	writeStream(to: BodyWriter, stream: StreamMeta, log: Log): void;
	writeTopic(to: BodyWriter, topic: TopicMeta, log: Log): void;
	writePartitions(to: BodyWriter, topic: TopicMeta, log: Log): void;
	writeNode(to: BodyWriter, node: ClusterNode): void;
	writeOption(to: BodyWriter, option: OptionSpec): void;
	writeStatsTail(to: BodyWriter): void;
	/** Bytes in front of the records of a poll reply. */
	readonly pollPrefixLength: number;
	writePollPrefix(
		to: Buffer,
		at: number,
		poll: { partition: number; current: bigint; count: number; context: Context },
	): void;
}

export function contextOf(meta: PartitionMeta, ownerGeneration: bigint): Context {
	return { incarnation: meta.incarnation, ownerGeneration, metadataOp: meta.incarnation };
}
