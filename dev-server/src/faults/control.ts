import type { Plane } from '../contract.js';
import type { TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import type { WireServer } from '../wire/server.js';
import { type Field, Fields } from './fields.js';
import type { RequestFault } from './rules.js';

export type Fault = { kind: string } & Record<string, unknown>;

/**
 * The fault switches of a running server. Faults of requests wait for their command; the others happen at once.
 * What is not known here goes to the managed plane. Offsets are numbers, bigints or decimal text.
 */
export class FaultControl {
	readonly #wire: WireServer;
	readonly #log: Log;
	readonly #plane: Plane | undefined;

	constructor(wire: WireServer, log: Log, plane: Plane | undefined) {
		this.#wire = wire;
		this.#log = log;
		this.#plane = plane;
	}

	/** Switches a fault on or does it. Rejects with a message when it is not understood. */
	async apply(fault: Fault): Promise<Record<string, unknown>> {
		const fields = new Fields(fault);
		const request = requestFault(fault.kind, fields);
		if (request) {
			const command = fields.optionalNumber('command');
			const times =
				fields.optionalNumber('times') ?? (request.kind === 'delay' ? Number.POSITIVE_INFINITY : 1);
			const skip = fields.optionalNumber('skip') ?? 0;
			fields.end();
			this.#wire.faults.add({ ...request, command, times, skip });
			return { waiting: this.#wire.faults.pending };
		}
		switch (fault.kind) {
			case 'clear':
				this.#wire.faults.clear();
				this.#wire.refuseFor(0);
				await this.#plane?.fault?.(fault);
				return {};
			case 'cut':
				return { cut: this.#wire.cutAll() };
			case 'refuse':
				this.#wire.refuseFor(fields.number('ms'));
				return {};
			case 'text_all':
				this.#wire.textToAll('not a frame');
				return {};
			case 'evict_all':
				this.#wire.evictAll(fields.number('reason'));
				return {};
			case 'trim':
				return this.#trim(fields);
			case 'recreate_topic':
				return this.#recreate(fields);
			case 'delete_topic':
				this.#log.deleteTopic(this.#topic(fields));
				return {};
			case 'purge_topic':
				this.#log.purgeTopic(this.#topic(fields));
				return {};
			case 'add_partitions': {
				const topic = this.#topic(fields);
				this.#log.addPartitions(topic, fields.optionalNumber('count') ?? 1);
				return { partitions: topic.partitions.length };
			}
			case 'base_offset':
				this.#log.setFirstOffset(
					fields.text('stream'),
					fields.text('topic'),
					fields.optionalNumber('partition'),
					fields.offset('offset'),
				);
				return {};
		}
		if (await this.#plane?.fault?.(fault)) return {};
		throw new Error(`unknown fault ${JSON.stringify(fault.kind)}`);
	}

	clear(): void {
		this.#wire.faults.clear();
		this.#wire.refuseFor(0);
	}

	#topic(fields: Fields): TopicMeta {
		const stream = fields.text('stream');
		const name = fields.text('topic');
		const topic = this.#log.findTopic(stream, name);
		if (!topic) throw new Error(`no topic ${stream}/${name}`);
		return topic;
	}

	/** `before` an offset, or everything; of one partition, or of all. */
	#trim(fields: Fields): Record<string, unknown> {
		const topic = this.#topic(fields);
		const partition = fields.optionalNumber('partition');
		const before: Field = fields.optional('before');
		const limit = before === undefined || before === 'all' ? 'all' : fields.offset('before');
		const starts: Record<string, string> = {};
		for (const meta of topic.partitions) {
			if (partition !== undefined && meta.id !== partition) continue;
			starts[meta.id] = this.#log.trimPartition(topic, meta.id, limit).toString();
		}
		if (Object.keys(starts).length === 0) throw new Error(`no partition ${partition}`);
		return { starts };
	}

	#recreate(fields: Fields): Record<string, unknown> {
		const old = this.#topic(fields);
		const stream = this.#log.catalog.stream(old.streamId)!;
		const partitions = fields.optionalNumber('partitions') ?? old.partitions.length;
		this.#log.deleteTopic(old);
		const { name, options, messageExpiry, maxTopicSize, compression, segmentBytes } = old;
		const settings = { options, messageExpiry, maxTopicSize, compression, segmentBytes };
		return { topicId: this.#log.createTopic(stream, { name, partitions, ...settings }).id };
	}
}

function requestFault(kind: string, fields: Fields): RequestFault | undefined {
	switch (kind) {
		case 'drop':
			return { kind, when: fields.optional('when') === 'after' ? 'after' : 'before' };
		case 'delay':
			return { kind, ms: fields.number('ms') };
		case 'status':
			return { kind, status: fields.number('status') };
		case 'evict':
			return { kind, reason: fields.number('reason') };
		case 'half':
			return { kind, bytes: fields.optionalNumber('bytes') };
		case 'silent':
		case 'text':
		case 'missized':
			return { kind };
	}
	return undefined;
}
