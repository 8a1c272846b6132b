import type { Handler, ReadHandler } from '../call.js';
import { Code, Refusal, Status } from '../codes.js';
import * as groups from './groups.js';
import * as messages from './messages.js';
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
	[Code.poll, messages.poll],
	[Code.getOffset, messages.getOffset],
	[Code.getStream, streams.getStream],
	[Code.getStreams, streams.getStreams],
	[Code.getTopic, topics.getTopic],
	[Code.getTopics, topics.getTopics],
	[Code.getGroup, groups.getGroup],
	[Code.getGroups, groups.getGroups],
	[Code.syncGroup, groups.syncGroup],
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
	[Code.send, messages.send],
	[Code.storeOffset, messages.storeConsumerOffset],
	[Code.deleteOffset, messages.deleteConsumerOffset],
]);
