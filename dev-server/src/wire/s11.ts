import { BodyReader } from './body.js';
import type { Dialect } from './dialect.js';
import { readCredentials } from './login_body.js';
import {
	derivedOptions,
	encodeValue,
	type OptionSpec,
	SNAPSHOT_OPTIONS,
	STABLE_OPTIONS,
} from './option_block.js';
import { checksumFits } from './reply.js';
import { streamTotals, topicTotals } from './totals.js';

const VERSION_0_11_0 = 11 << 10;
const NONE: ReadonlySet<number> = new Set();

function dialect(name: string, topicOptions: readonly OptionSpec[], repeats: Dialect['repeats']): Dialect {
	return {
		name,
		window: { min: VERSION_0_11_0, max: VERSION_0_11_0 },
		lastCommand: 29,
		accepts: (version) => version >>> 10 === 11,
		readLogin(body) {
			const reader = new BodyReader(body);
			reader.name();
			reader.name();
			return { credentials: readCredentials(reader.rest()) };
		},
		stampFits: checksumFits,
		topicOptions,
		repeats,
		contexts: false,
		resumable: false,
		marksCommits: false,
		retired: NONE,
		writeStream(to, stream, log) {
			const { bytes, messages } = streamTotals(stream, log);
			to.u32(stream.id).u64(stream.createdAt).u32(stream.topics.size);
			to.u64(bytes).u64(messages).name(stream.name).u32(0);
		},
		writeTopic(to, topic, log) {
			const { bytes, messages } = topicTotals(topic, log);
			to.u32(topic.id).u64(topic.createdAt).u32(topic.partitions.length);
			to.u64(topic.messageExpiry).u8(topic.compression).u64(topic.maxTopicSize);
			to.u64(bytes).u64(messages).name(topic.name);
			to.block(topic.options).block(derivedOptions(topic.options, topicOptions));
		},
		writePartitions(to, topic, log) {
			for (const meta of topic.partitions) {
				const partition = log.partition(topic, meta.id)!;
				to.u32(meta.id).u64(meta.createdAt).u32(partition.segments).u64(partition.current);
				to.u64(BigInt(partition.retainedBytes)).u64(partition.messages);
			}
		},
		writeNode(to, node) {
			to.longText(node.name).longText(node.ip);
			to.u16(node.tcp).u16(0).u16(node.http).u16(node.websocket).u8(0).u8(0);
		},
		writeOption(to, option) {
			to.name(option.key).u8(option.kind);
			to.block(encodeValue(option, option.default)).longText(option.description);
		},
		writeStatsTail() {},
		pollPrefixLength: 16,
		writePollPrefix(to, at, { partition, current, count }) {
			to.writeUInt32LE(partition, at);
			to.writeBigUInt64LE(current, at + 4);
			to.writeUInt32LE(count, at + 12);
		},
	};
}

/** The stable release. */
export const S11 = dialect('s11', STABLE_OPTIONS, 'by number');

/** The older snapshot: the same bytes, without durability keys and without recognition of repeated sends. */
export const SNAPSHOT = dialect('snapshot', SNAPSHOT_OPTIONS, 'never');
