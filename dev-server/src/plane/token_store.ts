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

/** Tokens with their counts in each row and field, and the number of tokens there; both as relations. */
export interface TokenSource {
	tokens: string;
	lengths: string;
}

/** Tokens made with the query, of a relation that has none stored. */
export function madeTokens(relation: string, columns: readonly Column[]): TokenSource {
	const tokens = columns.map((column) => tokensSql(relation, column, 'TRUE')).join(' UNION ALL ');
	return { tokens: `(${tokens})`, lengths: `(${lengthsSql(tokens)})` };
}

function lengthsSql(tokens: string): string {
	return `SELECT column_id, seq, sum(tf) AS len FROM (${tokens}) GROUP BY column_id, seq`;
}

function stored(index: IndexTable): TokenSource {
	return { tokens: `tk_${index.number}`, lengths: `tl_${index.number}` };
}

export class TokenStore {
	/** By index number and column id: the highest sequence whose tokens are stored. */
	readonly #done = new Map<string, bigint>();
	readonly #made = new Set<number>();

	constructor(private readonly database: Database) {}

	/** Brings the tokens of the text columns up to date, up to `highest`, and names the tables that have them. */
	async sync(index: IndexTable): Promise<TokenSource & { highest: bigint }> {
		const columns = index.columns.filter((column) => column.type?.kind === 'string');
		const source = stored(index);
		const highest = await this.database.transaction(async (db) => {
			if (!this.#made.has(index.number)) {
				// One of an earlier process speaks of other sequences.
				await db.run(
					`CREATE OR REPLACE TABLE ${source.tokens} (column_id INTEGER, seq BIGINT, token VARCHAR, tf BIGINT)`,
				);
				await db.run(`CREATE OR REPLACE TABLE ${source.lengths} (column_id INTEGER, seq BIGINT, len BIGINT)`);
			}
			const [bounds] = await rows(
				db,
				`SELECT coalesce(max(_seq), 0), coalesce(min(_seq), 0) FROM ${tableName(index)}`,
			);
			const [last, first] = bounds as [bigint, bigint];
			for (const column of columns) await this.#append(db, index, column, last);
			for (const table of [source.tokens, source.lengths])
				await db.run(`DELETE FROM ${table} WHERE seq < $1`, [first]);
			return last;
		});
		this.#made.add(index.number);
		for (const column of columns) this.#done.set(key(index, column), highest);
		return { ...source, highest };
	}

	async #append(db: DuckDBConnection, index: IndexTable, column: Column, last: bigint): Promise<void> {
		const done = this.#done.get(key(index, column)) ?? 0n;
		if (done >= last) return;
		const { tokens, lengths } = stored(index);
		const made = tokensSql(tableName(index), column, '_seq > $1');
		await db.run(`INSERT INTO ${tokens} ${made}`, [done]);
		const fresh = `SELECT * FROM ${tokens} WHERE column_id = ${column.id} AND seq > $1`;
		await db.run(`INSERT INTO ${lengths} ${lengthsSql(fresh)}`, [done]);
	}
}

function key(index: IndexTable, column: Column): string {
	return `${index.number}/${column.id}`;
}
