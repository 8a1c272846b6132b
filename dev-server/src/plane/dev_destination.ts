/** A destination as the server's own API hands it out. */
import type { DevDestination, FieldInput, RowInput, SnapshotInfo } from '../contract.js';
import { type DestinationRecord, type Destinations, infoOf } from './destinations.js';

export class CreatedDestination implements DevDestination {
	readonly id: Uint8Array;
	readonly generation: bigint;
	readonly tableUuid: Uint8Array;

	constructor(
		private readonly store: Destinations,
		record: DestinationRecord,
	) {
		this.id = record.definition.id;
		this.generation = record.definition.generation;
		this.tableUuid = record.table_uuid;
	}

	get snapshots(): readonly SnapshotInfo[] {
		const record = this.store.get(this.id);
		if (record?.definition.generation !== this.generation) return [];
		return record.snapshots.filter((snapshot) => snapshot.retained).map(infoOf);
	}

	append(rows: Iterable<RowInput>): Promise<SnapshotInfo> {
		return this.store.write(this.id, this.generation, rows, false);
	}

	overwrite(rows: Iterable<RowInput>): Promise<SnapshotInfo> {
		return this.store.write(this.id, this.generation, rows, true);
	}

	expire(snapshotId: bigint): Promise<void> {
		return this.store.expire(this.id, this.generation, snapshotId);
	}

	async supersede(schema?: readonly FieldInput[]): Promise<DevDestination> {
		return new CreatedDestination(this.store, await this.store.supersede(this.id, this.generation, schema));
	}
}
