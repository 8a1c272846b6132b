/**
 * Token tables for lexical search: one per index, filled when a search asks. They live as long as the process, since
 * row sequences are only unique that long.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type Database, rows } from './database.js';
import { type Column, columnName, type IndexTable, tableName } from './index_model.js';

/** As SQL text: what parts tokens, namely everything but letters and digits. */
export const SEPARATOR = `'[^\\p{L}\\p{N}]+'`;

/** The tokens of a text column with how often each row has them. */
export function tokensSql(relation: string, column: Column, condition: string): string {
	const name = columnName(column);
	return `SELECT CAST(${column.id} AS INTEGER) AS column_id, _seq AS seq, token, count(*) AS tf
		FROM (SELECT _seq, unnest(string_split_regex(lower(${name}), ${SEPARATOR})) AS token
			FROM ${relation} WHERE ${name} IS NOT NULL AND ${condition})
		WHERE token <> '' GROUP BY _seq, token`;
}

function tokenTable(index: IndexTable): string {
	return `tk_${index.number}`;
}

export class TokenStore {
	/** By index number and column id: the highest sequence whose tokens are stored. */
	readonly #done = new Map<string, bigint>();
	readonly #made = new Set<number>();

	constructor(private readonly database: Database) {}

	/** Brings the tokens of the text columns up to date and names the table that has them, up to `highest`. */
	async sync(index: IndexTable): Promise<{ table: string; highest: bigint }> {
		const columns = index.columns.filter((column) => column.type?.kind === 'string');
		const table = tokenTable(index);
		const highest = await this.database.transaction(async (db) => {
			if (!this.#made.has(index.number)) {
				// One of an earlier process speaks of other sequences.
				await db.run(
					`CREATE OR REPLACE TABLE ${table} (column_id INTEGER, seq BIGINT, token VARCHAR, tf BIGINT)`,
				);
			}
			const [bounds] = await rows(
				db,
				`SELECT coalesce(max(_seq), 0), coalesce(min(_seq), 0) FROM ${tableName(index)}`,
			);
			const [last, first] = bounds as [bigint, bigint];
			for (const column of columns) await this.#append(db, index, column, last);
			await db.run(`DELETE FROM ${table} WHERE seq < $1`, [first]);
			return last;
		});
		this.#made.add(index.number);
		for (const column of columns) this.#done.set(key(index, column), highest);
		return { table, highest };
	}

	async #append(db: DuckDBConnection, index: IndexTable, column: Column, last: bigint): Promise<void> {
		const done = this.#done.get(key(index, column)) ?? 0n;
		if (done >= last) return;
		const tokens = tokensSql(tableName(index), column, '_seq > $1');
		await db.run(`INSERT INTO ${tokenTable(index)} ${tokens}`, [done]);
	}
}

function key(index: IndexTable, column: Column): string {
	return `${index.number}/${column.id}`;
}
