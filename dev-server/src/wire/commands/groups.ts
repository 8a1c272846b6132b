import type { GroupMeta, TopicMeta } from '../../log/catalog_model.js';
import { BodyWriter } from '../body.js';
import { type Call, findGroup, findStream, findTopic, NOTHING, readTopic } from '../call.js';
import { rejected, Status } from '../codes.js';
import { groupKey } from './target.js';

const absent = () => ({ stream: rejected(Status.streamNotFound), topic: rejected(Status.topicNotFound) });

function writeGroup(to: BodyWriter, call: Call, topic: TopicMeta, group: GroupMeta): void {
	const members = call.services.groups.members(topic, group);
	to.u32(group.id).u32(topic.partitions.length).u32(members.length).name(group.name);
}

function details(call: Call, topic: TopicMeta, group: GroupMeta): Buffer {
	const body = new BodyWriter();
	writeGroup(body, call, topic, group);
	for (const member of call.services.groups.members(topic, group)) {
		body.u32(member.id).u32(member.partitions.length);
		for (const partition of member.partitions) body.u32(partition);
	}
	return body.done();
}

function lookUpTopic(call: Call): TopicMeta | undefined {
	const streamId = call.body.identifier();
	const topicId = call.body.identifier();
	const stream = findStream(call.services.log, streamId);
	return stream && findTopic(call.services.log, stream, topicId);
}

function readGroup(call: Call): { topic: TopicMeta; group: GroupMeta } {
	const { topic } = readTopic(call, absent());
	const id = call.body.identifier();
	call.body.end();
	const group = findGroup(call.services.log, topic, id);
	if (!group) throw rejected('id' in id ? Status.groupNotFound : Status.groupNameNotFound);
	return { topic, group };
}

export function getGroup(call: Call): Buffer {
	const topic = lookUpTopic(call);
	const id = call.body.identifier();
	call.body.end();
	const group = topic && findGroup(call.services.log, topic, id);
	return topic && group ? details(call, topic, group) : NOTHING;
}

export function getGroups(call: Call): Buffer {
	const topic = lookUpTopic(call);
	call.body.end();
	const body = new BodyWriter();
	if (topic) for (const group of topic.groups.values()) writeGroup(body, call, topic, group);
	return body.done();
}

export function createGroup(call: Call): Buffer {
	const { stream, topic } = readTopic(call, absent());
	const name = call.body.name();
	call.body.end();
	const { log } = call.services;
	if (log.catalog.groupByName(topic, name)) throw rejected(Status.groupNameExists);
	const id = topic.nextGroupId;
	log.record({ on: 'group+', stream: stream.id, topic: topic.id, id, name });
	return details(call, topic, topic.groups.get(id)!);
}

export function deleteGroup(call: Call): Buffer {
	const { topic, group } = readGroup(call);
	const { log, groups } = call.services;
	const where = { stream: topic.streamId, topic: topic.id };
	for (const meta of topic.partitions) {
		if (meta.offsets.has(groupKey(group.id))) {
			log.record({ on: 'offset-', ...where, partition: meta.id, consumer: groupKey(group.id) });
		}
	}
	log.record({ on: 'group-', ...where, id: group.id });
	groups.deleted(group);
	return NOTHING;
}

export function joinGroup(call: Call): Buffer {
	const { topic, group } = readGroup(call);
	call.services.groups.join(topic, group, call.connectionId);
	return NOTHING;
}

export function leaveGroup(call: Call): Buffer {
	const { topic, group } = readGroup(call);
	if (!call.services.groups.leave(topic, group, call.connectionId)) throw rejected(Status.notGroupMember);
	return NOTHING;
}

export function syncGroup(call: Call): Buffer {
	const topic = lookUpTopic(call);
	const id = call.body.identifier();
	call.body.end();
	const group = topic && findGroup(call.services.log, topic, id);
	const assignment = group && call.services.groups.assignment(topic, group, call.connectionId);
	if (!assignment) return NOTHING;
	const body = new BodyWriter().u64(assignment.generation).u32(assignment.partitions.length);
	for (const partition of assignment.partitions) body.u32(partition);
	return body.done();
}
