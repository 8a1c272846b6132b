import { arch, cpus, freemem, hostname, platform, release, totalmem } from 'node:os';
import { BodyWriter } from '../body.js';
import { type Call, type ClientInfo, NOTHING } from '../call.js';
import { Refusal, Status } from '../codes.js';

export const SERVER_VERSION = '0.1.0-tidemark';

const TOPIC_SCOPE = 1;
const LAST_SCOPE = 3;

export function ping(): Buffer {
	return NOTHING;
}

export function getClusterMetadata(call: Call): Buffer {
	call.body.end();
	// Exactly one node: the published clients need one, and use routing commands when there are more.
	const body = new BodyWriter().longText('single-node').u32(1);
	call.dialect.writeNode(body, call.services.node());
	return body.done();
}

export function describeOptions(call: Call): Buffer {
	const scope = call.body.u8();
	call.body.end();
	if (scope < 1 || scope > LAST_SCOPE) throw new Refusal(Status.invalidCommand);
	const options = scope === TOPIC_SCOPE ? call.dialect.topicOptions : [];
	const body = new BodyWriter().u32(options.length);
	for (const option of options) call.dialect.writeOption(body, option);
	return body.done();
}

function writeClient(to: BodyWriter, call: Call, client: ClientInfo, withGroups: boolean): void {
	const groups = call.services.groups.of(client.connectionId);
	to.u32(client.connectionId).u32(client.userId).u8(client.transport).longText(client.address);
	to.u32(groups.length);
	if (!withGroups) return;
	for (const { topic, group } of groups) to.u32(topic.streamId).u32(topic.id).u32(group.id);
}

function client(call: Call, id: number): Buffer {
	const found = call.services.clients().find((one) => one.connectionId === id);
	if (!found) return NOTHING;
	const body = new BodyWriter();
	writeClient(body, call, found, true);
	return body.done();
}

export function getMe(call: Call): Buffer {
	call.body.end();
	return client(call, call.connectionId);
}

export function getClient(call: Call): Buffer {
	const id = call.body.u32();
	call.body.end();
	return client(call, id);
}

export function getClients(call: Call): Buffer {
	call.body.end();
	const body = new BodyWriter();
	for (const one of call.services.clients()) writeClient(body, call, one, false);
	return body.done();
}

export function getStats(call: Call): Buffer {
	call.body.end();
	const { log, startedAtMicros } = call.services;
	const count = { streams: 0, topics: 0, partitions: 0, segments: 0, groups: 0 };
	let messages = 0n;
	let bytes = 0;
	for (const stream of log.catalog.streams.values()) {
		count.streams++;
		for (const topic of stream.topics.values()) {
			count.topics++;
			count.groups += topic.groups.size;
			for (const meta of topic.partitions) {
				const partition = log.partition(topic, meta.id)!;
				count.partitions++;
				count.segments += partition.segments;
				messages += partition.messages;
				bytes += partition.retainedBytes;
			}
		}
	}
	const usage = process.cpuUsage();
	const seconds = Math.max(process.uptime(), 0.001);
	const cpu = ((usage.user + usage.system) / 1e6 / seconds) * 100;
	const body = new BodyWriter()
		.u32(process.pid)
		.f32(cpu)
		.f32(cpu / Math.max(1, cpus().length));
	body.u64(BigInt(process.memoryUsage.rss())).u64(BigInt(totalmem())).u64(BigInt(freemem()));
	body
		.u64(log.now() - startedAtMicros)
		.u64(startedAtMicros)
		.u64(0n)
		.u64(0n)
		.u64(BigInt(bytes));
	body.u32(count.streams).u32(count.topics).u32(count.partitions).u32(count.segments);
	body.u64(messages).u32(call.services.clients().length).u32(count.groups);
	body.longText(hostname()).longText(platform()).longText(release()).longText(`${release()} ${arch()}`);
	body.longText(SERVER_VERSION).u32(0).u32(0).u32(1).u64(0n).u64(0n);
	call.dialect.writeStatsTail(body);
	return body.done();
}
