/** Outcomes of mutations under their operation identity: a repeat is answered from here and never applied again. */
import { createHash } from 'node:crypto';
import { blobValue, type DuckDBConnection } from '@duckdb/node-api';
import { blob } from './catalog.js';
import { type Database, rows } from './database.js';

/** At least ten minutes by contract; kept an hour. */
const KEEP_MICROS = 3_600_000_000n;

export type Lookup = { kind: 'new' } | { kind: 'stored'; reply: Uint8Array } | { kind: 'other_request' };

export class Outcomes {
	static async open(database: Database): Promise<Outcomes> {
		await database.transaction((db) =>
			db.run(
				`CREATE TABLE IF NOT EXISTS plane_outcome
				 (operation_id VARCHAR PRIMARY KEY, digest VARCHAR, reply BLOB, at_micros BIGINT)`,
			),
		);
		return new Outcomes();
	}

	async find(db: DuckDBConnection, operationId: bigint, digest: string): Promise<Lookup> {
		const [row] = await rows(db, 'SELECT digest, reply FROM plane_outcome WHERE operation_id = $1', [
			operationId.toString(16),
		]);
		if (row === undefined) return { kind: 'new' };
		return row[0] === digest ? { kind: 'stored', reply: blob(row[1]) } : { kind: 'other_request' };
	}

	/** In the transaction of the effect, so that both are stored or neither. */
	async store(db: DuckDBConnection, operationId: bigint, digest: string, reply: Uint8Array): Promise<void> {
		const now = BigInt(Date.now()) * 1000n;
		await db.run('DELETE FROM plane_outcome WHERE at_micros < $1', [now - KEEP_MICROS]);
		await db.run('INSERT INTO plane_outcome VALUES ($1, $2, $3, $4)', [
			operationId.toString(16),
			digest,
			blobValue(reply),
			now,
		]);
	}
}

export function requestDigest(code: number, payload: Uint8Array): string {
	return createHash('sha256').update(`${code}:`).update(payload).digest('hex');
}
