import type { Producer } from '../log/batch.js';
import type { PartitionMeta } from '../log/catalog_model.js';
import { Refusal, Status } from './codes.js';

const KEPT_BATCHES = 5;
const SEQUENCES = 2 ** 31;

interface Batch {
	sequence: number;
	checksum: bigint;
	base: bigint;
}

interface State {
	epoch: number;
	next: number;
	batches: Batch[];
}

/** What numbered producers have written to each partition, whatever session they wrote in. Kept in memory only. */
export class Producers {
	readonly #partitions = new WeakMap<PartitionMeta, Map<bigint, State>>();

	/** Base offset of the batch when it was written before; refuses one that does not follow the last. */
	written(meta: PartitionMeta, producer: Producer, checksum: bigint): bigint | undefined {
		const state = this.#partitions.get(meta)?.get(producer.id);
		if (!state || producer.epoch > state.epoch) return undefined;
		if (producer.epoch < state.epoch) throw new Refusal(Status.newerEpoch);
		const repeated = state.batches.find(
			(batch) => batch.sequence === producer.sequence && batch.checksum === checksum,
		);
		if (repeated) return repeated.base;
		if (producer.sequence !== state.next) throw new Refusal(Status.sequenceGap);
		return undefined;
	}

	wrote(meta: PartitionMeta, producer: Producer, count: number, checksum: bigint, base: bigint): void {
		let states = this.#partitions.get(meta);
		if (!states) {
			states = new Map();
			this.#partitions.set(meta, states);
		}
		const before = states.get(producer.id);
		const batches = before?.epoch === producer.epoch ? before.batches : [];
		batches.push({ sequence: producer.sequence, checksum, base });
		if (batches.length > KEPT_BATCHES) batches.shift();
		states.set(producer.id, {
			epoch: producer.epoch,
			next: (producer.sequence + count) % SEQUENCES,
			batches,
		});
	}
}
