import type { PartitionMeta, TopicMeta } from '../../log/catalog_model.js';
import type { Consumer } from '../body.js';
import { type Call, findGroup } from '../call.js';
import { Refusal, Status } from '../codes.js';
import type { Dialect } from '../dialect.js';

/** Refuses a call that was made for an earlier partition of the same number, or in the name of an earlier owner. */
export function checkContext(
	dialect: Dialect,
	meta: PartitionMeta,
	given: { incarnation: bigint; ownerGeneration: bigint },
	owner = 0n,
): void {
	if (!dialect.contexts) return;
	if (given.incarnation !== meta.incarnation) throw new Refusal(Status.historyUnavailable);
	if (given.ownerGeneration !== 0n && given.ownerGeneration !== owner) {
		throw new Refusal(Status.partitionNotOwned);
	}
}

/** Stored offsets belong to a consumer's name or number, or to a group. */
export function consumerKey(call: Call, topic: TopicMeta, consumer: Consumer): string {
	if (consumer.kind !== 2) {
		const kind = consumer.kind === 3 ? 'external' : 'consumer';
		return 'id' in consumer.id ? `${kind} #${consumer.id.id}` : `${kind} ${consumer.id.name}`;
	}
	const group = findGroup(call.services.log, topic, consumer.id);
	if (!group) throw new Refusal('id' in consumer.id ? Status.groupNotFound : Status.groupNameNotFound);
	return groupKey(group.id);
}

export function groupKey(groupId: number): string {
	return `group #${groupId}`;
}

/** What the connection's membership of a group covers; nothing for other consumers. */
export function membership(
	call: Call,
	topic: TopicMeta,
	consumer: Consumer,
): { generation: bigint; partitions: readonly number[] } | undefined {
	const group = consumer.kind === 2 ? findGroup(call.services.log, topic, consumer.id) : undefined;
	return group && call.services.groups.assignment(topic, group, call.connectionId);
}

/** What a missing stream, topic or partition of a write is answered with. */
export function writeRefusals(dialect: Dialect): { stream: Refusal; topic: Refusal; partition: Refusal } {
	if (dialect.contexts) return readRefusals();
	const unresolved = new Refusal(Status.resourceNotFound);
	return { stream: unresolved, topic: unresolved, partition: unresolved };
}

export function readRefusals(): { stream: Refusal; topic: Refusal; partition: Refusal } {
	return {
		stream: new Refusal(Status.streamNotFound),
		topic: new Refusal(Status.topicNotFound),
		partition: new Refusal(Status.partitionNotFound),
	};
}
