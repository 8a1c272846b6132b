import type { PartitionMeta, TopicMeta } from '../../log/catalog_model.js';
import type { Partition } from '../../log/partition.js';
import { BodyWriter, type Strategy } from '../body.js';
import { type Call, readTopic, resolveTopic } from '../call.js';
import { Refusal, Status } from '../codes.js';
import { contextOf } from '../dialect.js';
import { HEADER, MAX_FRAME } from '../frame.js';
import { Framed } from '../framed.js';
import type { Look } from '../parked_reads.js';
import { storeOffset } from './offsets.js';
import { look, type Reader, readFlag, readFrom, readPoll, readReader } from './poll.js';
import { checkContext, consumerKey, membership, readRefusals } from './target.js';

const LONGEST_WAIT = 600_000_000n;
const LONGEST_REQUEST = 630_000_000n;
const SLACK = 1_000_000n;
/** Room for a poll's prefix, a batch header and one message without content. */
const LEAST_BYTES = 344;
const MAX_TARGETS = 1000;
const NEXT = 5;
const OFFSET = 1;

/** Where the only node says that a partition is: on it. */
export function partitionRoute(call: Call): Buffer {
	const refusals = readRefusals();
	const { topic } = readTopic(call, refusals);
	const id = call.body.u32();
	call.body.end();
	const meta = topic.partitions[id];
	if (!meta) throw refusals.partition;
	const { incarnation, metadataOp } = contextOf(meta, 0n);
	return new BodyWriter().u64(incarnation).u64(metadataOp).u32(0).u32(topic.partitions.length).u8(0).done();
}

function check(rule: boolean): void {
	if (!rule) throw new Refusal(Status.invalidCommand);
}

export function deferredPoll(call: Call): Framed | Promise<Framed | undefined> {
	const { body } = call;
	const request = readPoll(call);
	const wait = body.u64();
	const minimum = body.u32();
	const maxBytes = body.u32();
	const timeout = body.u64();
	body.end();
	check(minimum >= 1 && minimum <= request.count && maxBytes >= LEAST_BYTES);
	checkTimes(wait, timeout, wait > 0n ? wait + SLACK : 1n);
	const limit = Math.min(maxBytes, MAX_FRAME - HEADER);
	return call.parked.read(call.header.request, wait, () => look(call, request, limit, minimum));
}

function checkTimes(wait: bigint, timeout: bigint, leastTimeout: bigint): void {
	check(wait <= LONGEST_WAIT && timeout >= leastTimeout && timeout <= LONGEST_REQUEST);
}

interface Target {
	partition: number;
	strategy: Strategy;
	maxBytes: number;
	incarnation: bigint;
	ownerGeneration: bigint;
}

interface FetchRequest extends Reader {
	minimum: number;
	count: number;
	maxBytes: number;
	autoCommit: boolean;
	targets: Target[];
}

export function fetch(call: Call): Framed | Promise<Framed | undefined> {
	const { body } = call;
	const reader = readReader(call);
	const wait = body.u64();
	const timeout = body.u64();
	const minimum = body.u32();
	const count = body.u32();
	const maxBytes = body.u32();
	const autoCommit = readFlag(call);
	const targets = readTargets(call, maxBytes);
	check(minimum >= 1 && minimum <= count);
	checkTimes(wait, timeout, wait + SLACK);
	const request = { ...reader, minimum, count, maxBytes, autoCommit, targets };
	return call.parked.read(call.header.request, wait, () => lookAtAll(call, request));
}

function readTargets(call: Call, maxBytes: number): Target[] {
	const { body } = call;
	const count = body.u32();
	check(count >= 1 && count <= MAX_TARGETS);
	const targets: Target[] = [];
	const seen = new Set<number>();
	for (let index = 0; index < count; index++) {
		const target = {
			partition: body.u32(),
			strategy: body.strategy(),
			maxBytes: body.u32(),
			incarnation: body.u64(),
			ownerGeneration: body.u64(),
		};
		check(target.strategy.kind === OFFSET || target.strategy.kind === NEXT);
		check(target.maxBytes >= LEAST_BYTES && target.maxBytes <= maxBytes && !seen.has(target.partition));
		seen.add(target.partition);
		targets.push(target);
	}
	body.end();
	return targets;
}

interface Section {
	entry: Buffer;
	records: Buffer;
	count: number;
	full: boolean;
	partition?: Partition;
	commit?: () => void;
}

const SECTION = 56;

function lookAtAll(call: Call, request: FetchRequest): Look {
	const { topic } = resolveTopic(call.services.log, request.stream, request.topic, readRefusals());
	const key = consumerKey(call, topic, request.consumer);
	let count = request.count;
	let room = Math.min(request.maxBytes, MAX_FRAME - HEADER) - 4 - SECTION * request.targets.length;
	const sections = request.targets.map((target) => {
		const section = lookAt(call, request, topic, key, target, { count, room });
		count -= section.count;
		room -= section.records.length;
		return section;
	});
	const read = request.count - count;
	return {
		// A partition that cannot be read is reported at once: waiting would not help it.
		satisfied: read >= request.minimum || sections.some((one) => one.full || !one.partition),
		partitions: sections.flatMap((one) => one.partition ?? []),
		finish() {
			for (const section of sections) section.commit?.();
			const head = Buffer.alloc(HEADER + 4);
			head.writeUInt32LE(sections.length, HEADER);
			const entries = sections.map((one) => one.entry);
			const records = sections.map((one) => one.records);
			return new Framed(Buffer.concat([head, ...entries, ...records]));
		},
	};
}

function lookAt(
	call: Call,
	request: FetchRequest,
	topic: TopicMeta,
	key: string,
	target: Target,
	left: { count: number; room: number },
): Section {
	const entry = Buffer.alloc(SECTION);
	entry.writeUInt32LE(target.partition, 0);
	let found: { meta: PartitionMeta; partition: Partition; owner: bigint };
	try {
		found = locate(call, request, topic, target);
	} catch (error) {
		if (!(error instanceof Refusal)) throw error;
		entry.writeUInt32LE(error.code, 4);
		return { entry, records: Buffer.alloc(0), count: 0, full: false };
	}
	const { meta, partition, owner } = found;
	const { read, full, next } = readFrom(partition, meta, key, {
		strategy: target.strategy,
		// The first message may be larger than its share, but the second partition's may not come on top.
		count: left.room < LEAST_BYTES && left.count < request.count ? 0 : left.count,
		maxBytes: Math.min(target.maxBytes, left.room),
		headroom: 0,
	});
	const context = contextOf(meta, owner);
	entry.writeBigUInt64LE(partition.current, 8);
	entry.writeUInt32LE(read.count, 16);
	entry.writeBigUInt64LE(context.incarnation, 20);
	entry.writeBigUInt64LE(context.ownerGeneration, 28);
	entry.writeBigUInt64LE(context.metadataOp, 36);
	entry.writeBigUInt64LE(next, 44);
	entry.writeUInt32LE(read.bytes.length, 52);
	const { last } = read;
	return {
		entry,
		records: read.bytes,
		count: read.count,
		full,
		partition,
		...(request.autoCommit && last !== undefined
			? { commit: () => storeOffset(call, topic, meta, key, last) }
			: {}),
	};
}

function locate(
	call: Call,
	request: FetchRequest,
	topic: TopicMeta,
	target: Target,
): { meta: PartitionMeta; partition: Partition; owner: bigint } {
	const owned = membership(call, topic, request.consumer);
	if (request.consumer.kind === 2 && !owned?.partitions.includes(target.partition)) {
		throw new Refusal(Status.partitionNotOwned);
	}
	const meta = topic.partitions[target.partition];
	const partition = meta && call.services.log.partition(topic, meta.id);
	if (!meta || !partition) throw readRefusals().partition;
	checkContext(call.dialect, meta, target, owned?.generation);
	return { meta, partition, owner: owned?.generation ?? 0n };
}
