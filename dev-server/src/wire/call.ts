import type { GroupMeta, StreamMeta, TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import type { BodyReader, Identifier } from './body.js';
import type { Refusal } from './codes.js';
import type { ClusterNode, Dialect } from './dialect.js';
import type { RequestHeader } from './frame.js';
import type { Framed } from './framed.js';
import type { Groups } from './groups.js';
import type { ParkedReads } from './parked_reads.js';
import type { Producers } from './producers.js';
import type { Session } from './session.js';
import type { Users } from './users.js';

export interface ClientInfo {
	connectionId: number;
	userId: number;
	/** 1 TCP, 4 WebSocket. */
	transport: number;
	address: string;
}

/** What commands may use of the server. */
export interface Services {
	readonly log: Log;
	readonly users: Users;
	readonly groups: Groups;
	readonly producers: Producers;
	node(): ClusterNode;
	clients(): ClientInfo[];
	/** Next partition of a balanced send. */
	nextBalanced(topic: TopicMeta): number;
	readonly startedAtMicros: bigint;
}

/** One request of a logged-in connection. */
export interface Call {
	readonly services: Services;
	readonly dialect: Dialect;
	readonly session: Session;
	readonly connectionId: number;
	readonly header: RequestHeader;
	readonly body: BodyReader;
	/** Reads of this connection that wait. */
	readonly parked: ParkedReads;
}

/** Gives the reply's payload; refuses by throwing `Refusal`. */
export type Handler = (call: Call) => Buffer;
export type ReadHandler = (call: Call) => Buffer | Framed;
/** A read that may wait; undefined when nobody listens any more. */
export type WaitingHandler = (call: Call) => Framed | Promise<Framed | undefined>;

export function findStream(log: Log, identifier: Identifier): StreamMeta | undefined {
	return 'id' in identifier ? log.catalog.stream(identifier.id) : log.catalog.streamByName(identifier.name);
}

export function findTopic(log: Log, stream: StreamMeta, identifier: Identifier): TopicMeta | undefined {
	return 'id' in identifier
		? stream.topics.get(identifier.id)
		: log.catalog.topicByName(stream, identifier.name);
}

export function findGroup(log: Log, topic: TopicMeta, identifier: Identifier): GroupMeta | undefined {
	return 'id' in identifier
		? topic.groups.get(identifier.id)
		: log.catalog.groupByName(topic, identifier.name);
}

export interface TopicRefusals {
	stream: Refusal;
	topic: Refusal;
}

export function resolveTopic(
	log: Log,
	streamId: Identifier,
	topicId: Identifier,
	refusals: TopicRefusals,
): { stream: StreamMeta; topic: TopicMeta } {
	const stream = findStream(log, streamId);
	if (!stream) throw refusals.stream;
	const topic = findTopic(log, stream, topicId);
	if (!topic) throw refusals.topic;
	return { stream, topic };
}

/** Reads two identifiers and resolves them; `refusals` says what a missing one is answered with. */
export function readTopic(call: Call, refusals: TopicRefusals): { stream: StreamMeta; topic: TopicMeta } {
	const streamId = call.body.identifier();
	const topicId = call.body.identifier();
	return resolveTopic(call.services.log, streamId, topicId, refusals);
}

export const NOTHING = Buffer.alloc(0);
