/** Lakehouse targets: one snapshot of a destination's Parquet files. */
import { textLiteral } from './database.js';
import type { DestinationRecord, Destinations, Snapshot } from './destinations.js';
import type { Stop } from './executions.js';
import type { Readiness } from './hello.js';
import type { Column } from './index_model.js';
import { QueryFailure } from './query_reply.js';
import type { Query, SnapshotSelector } from './query_request.js';
import type { Provenance, Relation } from './relation.js';
import type { Target, TargetSource } from './target.js';
import { idText } from './wire/names.js';
import { invalid } from './wire/refusal.js';

export class LakehouseTargets implements TargetSource {
	constructor(
		private readonly destinations: Destinations,
		private readonly readiness: Readiness,
	) {}

	async open(query: Query, _stop: Stop, pinned: bigint | undefined): Promise<Target> {
		const target = query.target as Query['target'] & { kind: 'lakehouse' };
		if (!this.readiness.ready) throw unavailable(this.readiness.reason);
		if (query.consistency !== 'eventual')
			throw new QueryFailure({ Unsupported: `consistency ${query.consistency} of a lakehouse target` });
		const record = this.destinations.get(target.destination_id);
		if (record === undefined) throw new QueryFailure({ IndexNotFound: idText(target.destination_id) });
		const observed = record.definition.generation;
		const requested = target.destination_generation;
		if (requested !== observed)
			throw new QueryFailure({ StaleGeneration: { what: 'destination', requested, observed } });
		const selector: SnapshotSelector | undefined =
			pinned === undefined ? target.snapshot : { kind: 'snapshot_id', value: pinned };
		return this.target(record, choose(record.snapshots, selector));
	}

	private target(record: DestinationRecord, snapshot: Snapshot): Target {
		const { lake, backend } = this.destinations;
		const { id, generation, table, name } = record.definition;
		const key = `destination ${Buffer.from(id).toString('hex')}/${generation}/${snapshot.snapshot_id}`;
		const names = name.toLowerCase() === table.table.toLowerCase() ? [name] : [table.table, name];
		const files = snapshot.files.map((file) => textLiteral(this.destinations.pathOf(file)));
		return {
			relation: relationOf(record, files),
			snapshot: snapshot.snapshot_id,
			tokens: async () => undefined,
			sql: { key, names },
			read: (work) => lake.read(work),
			evidence: async () => {
				const now = this.destinations.get(id)?.snapshots.at(-1)?.snapshot_id;
				return {
					resolved_target: {
						kind: 'lakehouse',
						destination_id: id,
						destination_generation: generation,
						backend_resource_id: backend.resourceId,
						backend_generation: backend.generation,
						runtime_configuration_revision: backend.revision,
						table_uuid: record.table_uuid,
						namespace: table.namespace,
						table: table.table,
						snapshot_id: snapshot.snapshot_id,
						schema_id: 0n,
						partition_spec_id: 0n,
					},
					boundary: {
						digest: snapshot.digest,
						relation_to_current: now === snapshot.snapshot_id ? 'current' : 'historical',
					},
					checkpoint_revision: snapshot.checkpoint_revision,
					global_state_revision: this.destinations.globalRevision,
					frontier: undefined,
				};
			},
		};
	}
}

function unavailable(reason: string): QueryFailure {
	return new QueryFailure({ TargetUnavailable: { reason } });
}

function choose(snapshots: readonly Snapshot[], selector: SnapshotSelector | undefined): Snapshot {
	let found: Snapshot | undefined;
	if (selector === undefined) {
		found = snapshots.at(-1);
		if (found === undefined) throw unavailable('the destination has no snapshot yet');
	} else if (selector.kind === 'snapshot_id') {
		found = snapshots.find((snapshot) => snapshot.snapshot_id === selector.value);
		if (found === undefined) throw new QueryFailure({ ExpiredSnapshot: { snapshot_id: selector.value } });
	} else {
		// What was current then, also when it can be read no more.
		found = snapshots.findLast((snapshot) => snapshot.timestamp_micros <= selector.value);
		if (found === undefined) return invalid('snapshot', 'query.target.snapshot', 'before the first snapshot');
	}
	if (!found.retained) throw new QueryFailure({ ExpiredSnapshot: { snapshot_id: found.snapshot_id } });
	return found;
}

function relationOf(record: DestinationRecord, files: readonly string[]): Relation {
	const columns = record.fields.map(
		(field): Column => ({
			id: Number(field.id),
			name: field.name,
			declared: true,
			required: field.required,
			type: field.field_type,
			doc: field.doc,
		}),
	);
	const long = (sql: string): Provenance => ({
		sql: `CAST(${sql} AS BIGINT)`,
		type: { kind: 'long' },
		required: true,
	});
	const { id, generation } = record.definition;
	return {
		sql: `read_parquet([${files.join(', ')}])`,
		columns,
		byName: new Map(columns.map((column) => [column.name, column])),
		provenance: {
			__laser_offset: long('_seq - 1'),
			__laser_row_ordinal: long('0'),
			__laser_destination_id: {
				sql: `CAST('${Buffer.from(id).toString('hex')}' AS UUID)`,
				type: { kind: 'uuid' },
				required: true,
			},
			__laser_destination_generation: long(generation.toString()),
		},
		time: '_ts',
	};
}
