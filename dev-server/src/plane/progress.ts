/**
 * How far each (source partition, index) has been projected, and the changes still owed to the feed. Both are written
 * in the transaction of the rows they speak of.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Source } from './control_model.js';
import { type Database, execute, rows } from './database.js';
import type { Change } from './feed.js';

export interface Position {
	/** Next source offset to project. */
	next: bigint;
	/** Creation time of the topic, and epoch of the partition, that the offsets belong to. */
	topicCreatedAt: bigint;
	epoch: bigint;
}

export class Progress {
	readonly #sources = new Map<string, number>();

	static async open(database: Database): Promise<Progress> {
		const progress = new Progress();
		await database.transaction(async (db) => {
			await db.run(
				'CREATE TABLE IF NOT EXISTS plane_source (id INTEGER PRIMARY KEY, stream VARCHAR, topic VARCHAR)',
			);
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_progress (source INTEGER, partition_id UINTEGER, index_number INTEGER,
				 topic_created_at UBIGINT, epoch UBIGINT, next UBIGINT, PRIMARY KEY (source, partition_id, index_number))`,
			);
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_outbox (id BIGINT, index_name VARCHAR, partition_id UINTEGER, from_offset UBIGINT,
				 to_offset UBIGINT, row_count UINTEGER, stream VARCHAR)`,
			);
			for (const [id, stream, topic] of await rows(db, 'SELECT id, stream, topic FROM plane_source')) {
				progress.#sources.set(`${stream}/${topic}`, id as number);
			}
		});
		return progress;
	}

	/** Number of a source in rows; streams and topics keep theirs for good. */
	async sourceId(database: Database, source: Source): Promise<number> {
		// A stream name never holds a slash, so the joined text is unique.
		const key = `${source.stream}/${source.topic}`;
		const known = this.#sources.get(key);
		if (known !== undefined) return known;
		const id = this.#sources.size + 1;
		await database.transaction((db) =>
			db.run('INSERT INTO plane_source VALUES ($1, $2, $3)', [id, source.stream, source.topic]),
		);
		this.#sources.set(key, id);
		return id;
	}

	knownSourceId(source: Source): number | undefined {
		return this.#sources.get(`${source.stream}/${source.topic}`);
	}
}

export async function readPosition(
	db: DuckDBConnection,
	source: number,
	partitionId: number,
	indexNumber: number,
): Promise<Position | undefined> {
	const [row] = await rows(
		db,
		`SELECT next, topic_created_at, epoch FROM plane_progress
		 WHERE source = $1 AND partition_id = $2 AND index_number = $3`,
		[source, partitionId, indexNumber],
	);
	if (row === undefined) return undefined;
	const [next, topicCreatedAt, epoch] = row as bigint[];
	return { next: next!, topicCreatedAt: topicCreatedAt!, epoch: epoch! };
}

export async function writePosition(
	db: DuckDBConnection,
	source: number,
	partitionId: number,
	indexNumber: number,
	position: Position,
): Promise<void> {
	const { topicCreatedAt, epoch, next } = position;
	const values = [source, partitionId, indexNumber, topicCreatedAt, epoch, next];
	// Several times as fast as to insert or replace, and after the first batch the row is there.
	const changed = await execute(
		db,
		`UPDATE plane_progress SET topic_created_at = $4, epoch = $5, next = $6
		 WHERE source = $1 AND partition_id = $2 AND index_number = $3`,
		values,
	);
	if (changed === 0) await execute(db, 'INSERT INTO plane_progress VALUES ($1, $2, $3, $4, $5, $6)', values);
}

/** A change that its batch's transaction has promised to the feed. Ids grow in the order of the commits. */
export interface OwedChange {
	id: bigint;
	change: Change;
}

export async function oweChange(db: DuckDBConnection, { id, change }: OwedChange): Promise<void> {
	await execute(db, 'INSERT INTO plane_outbox VALUES ($1, $2, $3, $4, $5, $6, $7)', [
		id,
		change.index,
		change.partitionId,
		change.fromOffset,
		change.toOffset,
		change.rows,
		change.sourceStream,
	]);
}

/** Forgets changes up to an id: they are in the feed. */
export async function settleOwed(db: DuckDBConnection, upTo: bigint): Promise<void> {
	await execute(db, 'DELETE FROM plane_outbox WHERE id <= $1', [upTo]);
}

export async function owedChanges(db: DuckDBConnection): Promise<OwedChange[]> {
	const owed = await rows(
		db,
		'SELECT id, index_name, partition_id, from_offset, to_offset, row_count, stream FROM plane_outbox ORDER BY id',
	);
	return owed.map(([id, index, partition, from, to, count, stream]) => ({
		id: id as bigint,
		change: {
			index: index as string,
			partitionId: partition as number,
			fromOffset: from as bigint,
			toOffset: to as bigint,
			rows: count as number,
			sourceStream: stream as string,
		},
	}));
}
