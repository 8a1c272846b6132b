import type { GroupMeta, TopicMeta } from '../log/catalog_model.js';

interface Member {
	id: number;
	connectionId: number;
	partitions: number[];
}

interface Membership {
	members: Member[];
	generation: bigint;
	partitionCount: number;
	nextMemberId: number;
}

/** Who is in which consumer group. Membership belongs to a session and ends with it; it is not kept on disk. */
export class Groups {
	readonly #groups = new Map<GroupMeta, { topic: TopicMeta; membership: Membership }>();

	members(topic: TopicMeta, group: GroupMeta): readonly Member[] {
		return this.#membership(topic, group).members;
	}

	/** Undefined when the connection is not a member. */
	assignment(
		topic: TopicMeta,
		group: GroupMeta,
		connectionId: number,
	): { generation: bigint; partitions: readonly number[] } | undefined {
		const membership = this.#membership(topic, group);
		const member = membership.members.find((one) => one.connectionId === connectionId);
		return member && { generation: membership.generation, partitions: member.partitions };
	}

	join(topic: TopicMeta, group: GroupMeta, connectionId: number): void {
		const membership = this.#membership(topic, group);
		if (membership.members.some((one) => one.connectionId === connectionId)) return;
		membership.members.push({ id: membership.nextMemberId++, connectionId, partitions: [] });
		assign(membership);
	}

	leave(topic: TopicMeta, group: GroupMeta, connectionId: number): boolean {
		const membership = this.#membership(topic, group);
		const at = membership.members.findIndex((one) => one.connectionId === connectionId);
		if (at < 0) return false;
		membership.members.splice(at, 1);
		assign(membership);
		return true;
	}

	leaveAll(connectionId: number): void {
		for (const [group, { topic }] of this.#groups) this.leave(topic, group, connectionId);
	}

	deleted(group: GroupMeta): void {
		this.#groups.delete(group);
	}

	of(connectionId: number): { topic: TopicMeta; group: GroupMeta }[] {
		return [...this.#groups]
			.filter(([, entry]) => entry.membership.members.some((one) => one.connectionId === connectionId))
			.map(([group, { topic }]) => ({ topic, group }));
	}

	#membership(topic: TopicMeta, group: GroupMeta): Membership {
		let entry = this.#groups.get(group);
		if (!entry) {
			const membership = {
				members: [],
				generation: 0n,
				partitionCount: topic.partitions.length,
				nextMemberId: 0,
			};
			entry = { topic, membership };
			this.#groups.set(group, entry);
		}
		if (entry.membership.partitionCount !== topic.partitions.length) {
			entry.membership.partitionCount = topic.partitions.length;
			assign(entry.membership);
		}
		return entry.membership;
	}
}

/** Deals the partitions out one by one; every change is a new generation. */
function assign(membership: Membership): void {
	membership.generation++;
	for (const member of membership.members) member.partitions = [];
	if (membership.members.length === 0) return;
	for (let partition = 0; partition < membership.partitionCount; partition++) {
		membership.members[partition % membership.members.length]!.partitions.push(partition);
	}
}
