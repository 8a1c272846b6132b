import { readdirSync } from 'node:fs';
import { BodyReader } from './body.js';
import { contextOf, type Dialect } from './dialect.js';
import { readCredentials } from './login_body.js';
import { derivedOptions, encodeValue, NEWER_OPTIONS } from './option_block.js';
import { identifierFits } from './reply.js';
import { streamTotals, topicTotals } from './totals.js';

export const VERSION_0_12_2 = (12 << 10) | 2;
export const SECRET_LENGTH = 32;

const RETIRED = new Set([14, 35, 102, 103, 104, 107, 123, 124, 204, 205, 304, 305]);

const Flag = { updatable: 1, resettable: 2 } as const;

/** The only node keeps everything and is always in sync. */
const NODES = Buffer.from([1, 0]);

function openFiles(): bigint {
	try {
		return BigInt(readdirSync('/proc/self/fd').length);
	} catch {
		return 0n;
	}
}

/** The newest pre-release protocol, 0.12.2. */
export const V12: Dialect = {
	name: 'v12',
	window: { min: VERSION_0_12_2, max: VERSION_0_12_2 },
	lastCommand: 36,
	accepts: (version) => version === VERSION_0_12_2,
	readLogin(body) {
		const reader = new BodyReader(body);
		reader.name();
		reader.name();
		const secret = Buffer.from(reader.take(SECRET_LENGTH));
		return { credentials: readCredentials(reader.rest()), secret };
	},
	stampFits: identifierFits,
	topicOptions: NEWER_OPTIONS,
	repeats: 'by frame',
	contexts: true,
	resumable: true,
	marksCommits: true,
	retired: RETIRED,
	writeStream(to, stream, log) {
		const { bytes, messages } = streamTotals(stream, log);
		to.u32(stream.id).u64(stream.createdAt).u32(stream.topics.size);
		to.u64(bytes).u64(messages).name(stream.name).u32(0).u32(0);
	},
	writeTopic(to, topic, log) {
		const { bytes, messages } = topicTotals(topic, log);
		to.u32(topic.id).u64(topic.createdAt).u32(topic.partitions.length);
		to.u64(bytes).u64(messages).name(topic.name);
		to.block(topic.options).block(derivedOptions(topic.options, NEWER_OPTIONS));
	},
	writePartitions(to, topic, log) {
		for (const meta of topic.partitions) {
			const partition = log.partition(topic, meta.id)!;
			const context = contextOf(meta, 0n);
			to.u32(meta.id).u64(meta.createdAt).u32(partition.segments).u64(partition.current);
			to.u64(BigInt(partition.retainedBytes)).u64(partition.messages);
			to.u64(context.incarnation).u64(context.ownerGeneration).u64(context.metadataOp);
			to.bytes(NODES).bytes(NODES);
		}
	},
	writeNode(to, node) {
		to.u8(0).longText(node.name).longText(node.ip);
		to.u16(node.tcp).u16(0).u16(node.http).u16(node.websocket).u8(0).u8(0);
	},
	writeOption(to, option) {
		to.name(option.key).u8(option.kind);
		to.u8(option.updatable ? Flag.updatable | Flag.resettable : 0);
		to.block(encodeValue(option, option.default)).longText(option.description);
	},
	writeStatsTail(to) {
		to.u64(openFiles()).u64(0n);
	},
	pollPrefixLength: 40,
	writePollPrefix(to, at, { partition, current, count, context }) {
		to.writeUInt32LE(partition, at);
		to.writeBigUInt64LE(current, at + 4);
		to.writeUInt32LE(count, at + 12);
		to.writeBigUInt64LE(context.incarnation, at + 16);
		to.writeBigUInt64LE(context.ownerGeneration, at + 24);
		to.writeBigUInt64LE(context.metadataOp, at + 32);
	},
};
