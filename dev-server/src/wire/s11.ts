import type { TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import { BodyError, BodyReader } from './body.js';
import type { Dialect, LoginBody } from './dialect.js';
import {
	derivedOptions,
	encodeValue,
	type OptionSpec,
	SNAPSHOT_OPTIONS,
	STABLE_OPTIONS,
} from './option_block.js';

const VERSION_0_11_0 = 11 << 10;

function topicTotals(topic: TopicMeta, log: Log): { bytes: number; messages: bigint } {
	let bytes = 0;
	let messages = 0n;
	for (const meta of topic.partitions) {
		const partition = log.partition(topic, meta.id)!;
		bytes += partition.retainedBytes;
		messages += partition.messages;
	}
	return { bytes, messages };
}

function readLogin(body: Buffer): LoginBody {
	const reader = new BodyReader(body);
	reader.name();
	reader.name();
	const credentials = reader.rest();
	try {
		return readPassword(new BodyReader(credentials));
	} catch (error) {
		if (!(error instanceof BodyError)) throw error;
	}
	const token = new BodyReader(credentials);
	const login: LoginBody = { by: 'token', token: token.name() };
	endWithContext(token);
	return login;
}

function readPassword(reader: BodyReader): LoginBody {
	const login: LoginBody = { by: 'password', user: reader.name(), password: reader.shortText() };
	endWithContext(reader);
	return login;
}

function endWithContext(reader: BodyReader): void {
	reader.text(reader.u32());
	reader.end();
}

function dialect(
	name: string,
	topicOptions: readonly OptionSpec[],
	remembersPartitionWrites: boolean,
): Dialect {
	return {
		name,
		window: { min: VERSION_0_11_0, max: VERSION_0_11_0 },
		accepts: (version) => version >>> 10 === 11,
		readLogin,
		topicOptions,
		remembersPartitionWrites,
		writeStream(to, stream, log) {
			let bytes = 0;
			let messages = 0n;
			for (const topic of stream.topics.values()) {
				const totals = topicTotals(topic, log);
				bytes += totals.bytes;
				messages += totals.messages;
			}
			to.u32(stream.id).u64(stream.createdAt).u32(stream.topics.size);
			to.u64(BigInt(bytes)).u64(messages).name(stream.name).u32(0);
		},
		writeTopic(to, topic, log) {
			const { bytes, messages } = topicTotals(topic, log);
			to.u32(topic.id).u64(topic.createdAt).u32(topic.partitions.length);
			to.u64(topic.messageExpiry).u8(topic.compression).u64(topic.maxTopicSize);
			to.u64(BigInt(bytes)).u64(messages).name(topic.name);
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
		pollPrefixLength: 16,
		writePollPrefix(to, at, { partition, current, count }) {
			to.writeUInt32LE(partition, at);
			to.writeBigUInt64LE(current, at + 4);
			to.writeUInt32LE(count, at + 12);
		},
	};
}

/** The stable release. */
export const S11 = dialect('s11', STABLE_OPTIONS, true);

/** The older snapshot: the same bytes, without durability keys and without recognition of repeated sends. */
export const SNAPSHOT = dialect('snapshot', SNAPSHOT_OPTIONS, false);
