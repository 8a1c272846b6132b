import type { Handler, ReadHandler, WaitingHandler } from '../call.js';
import { Code, Refusal, Status } from '../codes.js';
import * as deferred from './deferred.js';
import * as groups from './groups.js';
import * as offsets from './offsets.js';
import { poll } from './poll.js';
import { send } from './send.js';
import * as streams from './streams.js';
import * as system from './system.js';
import * as tokens from './tokens.js';
import * as topics from './topics.js';

const unavailable: Handler = () => {
	throw new Refusal(Status.featureUnavailable);
};

export const READS = new Map<number, ReadHandler>([
	[Code.ping, system.ping],
	[Code.getStats, system.getStats],
	[Code.getClusterMetadata, system.getClusterMetadata],
	[Code.describeOptions, system.describeOptions],
	[Code.getMe, system.getMe],
	[Code.getClient, system.getClient],
	[Code.getClients, system.getClients],
	[11, unavailable],
	[31, unavailable],
	[34, unavailable],
	[41, unavailable],
	[102, unavailable],
	[Code.poll, poll],
	[Code.getOffset, offsets.getOffset],
	[Code.getStream, streams.getStream],
	[Code.getStreams, streams.getStreams],
	[Code.getTopic, topics.getTopic],
	[Code.getTopics, topics.getTopics],
	[Code.getGroup, groups.getGroup],
	[Code.getGroups, groups.getGroups],
	[Code.syncGroup, groups.syncGroup],
]);

/** Reads of the dialect in which partition calls carry a context. */
export const CONTEXT_READS = new Map<number, ReadHandler>([
	[Code.partitionRoute, deferred.partitionRoute],
	[Code.updateResource, unavailable],
]);

export const WAITING_READS = new Map<number, WaitingHandler>([
	[Code.deferredPoll, deferred.deferredPoll],
	[Code.fetch, deferred.fetch],
]);

export const METADATA_WRITES = new Map<number, Handler>([
	[Code.createStream, streams.createStream],
	[Code.updateStream, streams.updateStream],
	[Code.deleteStream, streams.deleteStream],
	[Code.purgeStream, streams.purgeStream],
	[Code.createTopic, topics.createTopic],
	[Code.updateTopic, topics.updateTopic],
	[Code.deleteTopic, topics.deleteTopic],
	[Code.purgeTopic, topics.purgeTopic],
	[Code.createPartitions, topics.createPartitions],
	[Code.deletePartitions, topics.deletePartitions],
	[Code.createGroup, groups.createGroup],
	[Code.deleteGroup, groups.deleteGroup],
	[Code.joinGroup, groups.joinGroup],
	[Code.leaveGroup, groups.leaveGroup],
	[Code.createToken, tokens.createToken],
	[Code.deleteToken, tokens.deleteToken],
]);

export const PARTITION_WRITES = new Map<number, Handler>([
	[Code.send, send],
	[Code.storeOffset, offsets.storeConsumerOffset],
	[Code.deleteOffset, offsets.deleteConsumerOffset],
]);
