/** Which rows a binding's retention policy lets go. Runs inside the caller's transaction. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PlaneLog } from '../contract.js';
import type { Binding } from './control_model.js';
import { type IndexTable, tableName } from './index_model.js';

export async function retainRows(
	db: DuckDBConnection,
	log: PlaneLog,
	binding: Binding,
	index: IndexTable,
	source: number,
	nowMicros: bigint,
): Promise<void> {
	const policy = binding.retention;
	const table = tableName(index);
	switch (policy?.kind) {
		case 'time_to_live':
			await db.run(`DELETE FROM ${table} WHERE _source = $1 AND _ts <= $2`, [
				source,
				nowMicros - policy.ttl_micros,
			]);
			return;
		case 'max_rows':
			await db.run(
				`DELETE FROM ${table} WHERE _source = $1 AND _seq <=
				 (SELECT _seq FROM ${table} WHERE _source = $1 ORDER BY _seq DESC LIMIT 1 OFFSET CAST($2 AS BIGINT))`,
				[source, policy.rows],
			);
			return;
		case 'mirror_log': {
			const { stream, topic } = binding.source;
			const partitions = log.partitionCount(stream, topic);
			if (partitions === undefined) return;
			for (let partition = 0; partition < partitions; partition++) {
				await db.run(`DELETE FROM ${table} WHERE _source = $1 AND _partition = $2 AND _offset < $3`, [
					source,
					partition,
					log.start(stream, topic, partition),
				]);
			}
			return;
		}
		default:
			return;
	}
}

/** Rows of a source whose topic is gone. */
export async function dropSourceRows(
	db: DuckDBConnection,
	binding: Binding,
	index: IndexTable,
	source: number,
): Promise<void> {
	const kind = binding.retention?.kind;
	if (kind !== 'keep_until_source_deleted' && kind !== 'mirror_log') return;
	await db.run(`DELETE FROM ${tableName(index)} WHERE _source = $1`, [source]);
}

/** Rows of a partition from an offset on: their records are gone from the log, never to come back. */
export async function dropRowsFrom(
	db: DuckDBConnection,
	index: IndexTable,
	source: number,
	partitionId: number,
	offset: bigint,
): Promise<void> {
	await db.run(`DELETE FROM ${tableName(index)} WHERE _source = $1 AND _partition = $2 AND _offset >= $3`, [
		source,
		partitionId,
		offset,
	]);
}
