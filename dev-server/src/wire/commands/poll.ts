import type { PartitionMeta } from '../../log/catalog_model.js';
import type { Partition, Read } from '../../log/partition.js';
import type { Consumer, Identifier, Strategy } from '../body.js';
import { type Call, resolveTopic } from '../call.js';
import { Refusal, Status } from '../codes.js';
import { type Context, contextOf } from '../dialect.js';
import { HEADER, MAX_FRAME } from '../frame.js';
import { Framed } from '../framed.js';
import type { Look } from '../parked_reads.js';
import { storeOffset } from './offsets.js';
import { checkContext, consumerKey, membership, readRefusals } from './target.js';

const STALE_ASSIGNMENT = 0xffff_ffff;
const LAST_OFFSET = 0xffff_ffff_ffff_ffffn;

/** Who reads which topic: kept as it was asked, and resolved at each look. */
export interface Reader {
	consumer: Consumer;
	stream: Identifier;
	topic: Identifier;
}

export interface PollRequest extends Reader {
	partition: number | undefined;
	strategy: Strategy;
	count: number;
	autoCommit: boolean;
}

export function readReader(call: Call): Reader {
	const { body } = call;
	return { consumer: body.consumer(), stream: body.identifier(), topic: body.identifier() };
}

export function readPoll(call: Call): PollRequest {
	const { body } = call;
	const reader = readReader(call);
	const partition = body.optionalPartition();
	const strategy = body.strategy();
	const count = body.u32();
	return { ...reader, partition, strategy, count, autoCommit: readFlag(call) };
}

export function readFlag(call: Call): boolean {
	const flag = call.body.u8();
	if (flag > 1) throw new Refusal(Status.invalidCommand);
	return flag === 1;
}

export function poll(call: Call): Framed {
	const request = readPoll(call);
	call.body.end();
	return look(call, request, MAX_FRAME - HEADER).finish();
}

/** What the poll would get now, within `maxBytes` of reply body. Nothing is stored until it is finished. */
export function look(call: Call, request: PollRequest, maxBytes: number, minimum = 1): Look {
	const { dialect } = call;
	const { consumer } = request;
	const { topic } = resolveTopic(call.services.log, request.stream, request.topic, readRefusals());
	const key = consumerKey(call, topic, consumer);
	const owned = membership(call, topic, consumer);
	if (consumer.kind === 2) {
		if (request.partition === undefined) throw new Refusal(Status.invalidCommand);
		if (!owned) throw new Refusal(Status.partitionNotOwned);
		if (!owned.partitions.includes(request.partition)) return staleAssignment(call);
	}
	const meta = topic.partitions[request.partition ?? 0];
	const partition = meta && call.services.log.partition(topic, meta.id);
	if (!meta || !partition) throw readRefusals().partition;
	checkContext(dialect, meta, call.header, owned?.generation);
	const headroom = HEADER + dialect.pollPrefixLength;
	const { read, full } = readFrom(partition, meta, key, {
		strategy: request.strategy,
		count: request.count,
		maxBytes: maxBytes - dialect.pollPrefixLength,
		headroom,
	});
	return {
		satisfied: full || read.count >= minimum,
		partitions: [partition],
		finish() {
			if (request.autoCommit && read.last !== undefined) storeOffset(call, topic, meta, key, read.last);
			const context = contextOf(meta, owned?.generation ?? 0n);
			const prefix = { partition: meta.id, current: partition.current, count: read.count, context };
			dialect.writePollPrefix(read.bytes, HEADER, prefix);
			return new Framed(read.bytes, context.incarnation);
		},
	};
}

export interface Wanted {
	strategy: Strategy;
	count: number;
	maxBytes: number;
	headroom: number;
}

/** Reads from where a strategy begins. `full` when more is there than fits; `next` is where to go on. */
export function readFrom(
	partition: Partition,
	meta: PartitionMeta,
	key: string,
	wanted: Wanted,
): { read: Read; full: boolean; next: bigint } {
	const from = startOf(partition, meta, wanted.strategy, key, wanted.count);
	if (from === undefined) {
		const read = { bytes: Buffer.alloc(wanted.headroom), count: 0, last: undefined };
		return { read, full: false, next: LAST_OFFSET };
	}
	const read = partition.read(from, wanted.count, Math.max(0, wanted.maxBytes), wanted.headroom);
	const next = read.last === undefined || read.last === LAST_OFFSET ? from : read.last + 1n;
	// Whoever names an offset that is gone learns so at once; others wait for what comes.
	const wantedNext = wanted.strategy.kind === 1 || next > partition.start ? next : partition.start;
	return { read, full: wantedNext < partition.end, next };
}

function staleAssignment(call: Call): Look {
	const { dialect, header } = call;
	const { incarnation, ownerGeneration, minimumOp } = header;
	const context: Context = { incarnation, ownerGeneration, metadataOp: minimumOp };
	return {
		satisfied: true,
		partitions: [],
		finish() {
			const frame = Buffer.alloc(HEADER + dialect.pollPrefixLength);
			const prefix = { partition: STALE_ASSIGNMENT, current: 0n, count: 0, context };
			dialect.writePollPrefix(frame, HEADER, prefix);
			return new Framed(frame);
		},
	};
}

/** Where a poll begins; undefined when it lies behind the last possible offset. */
function startOf(
	partition: Partition,
	meta: PartitionMeta,
	strategy: Strategy,
	key: string,
	count: number,
): bigint | undefined {
	switch (strategy.kind) {
		case 1:
			return strategy.value;
		case 2:
			return partition.offsetAt(strategy.value);
		case 3:
			return 0n;
		case 4: {
			const wanted = BigInt(count);
			return partition.messages < wanted ? partition.start : partition.end - wanted;
		}
		default: {
			const stored = meta.offsets.get(key);
			if (stored === undefined) return 0n;
			return stored === LAST_OFFSET ? undefined : stored + 1n;
		}
	}
}
