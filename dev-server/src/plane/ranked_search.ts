/**
 * Vector and lexical search. Both rank the rows of a snapshot once, on the first page; later pages fetch the rows of
 * the hits that follow.
 *
 * Distance is Euclidean, over a list field of floats or doubles; rows of another length or with a null element have
 * none and are left out. The lexical rank is BM25 (k1 1.2, b 0.75); a token is a run of letters and digits in lower
 * case, and a row with any of the query's tokens is a hit.
 */
import { BIGINT, DOUBLE, type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api';
import { type Answer, each, type Hit, type PageStart, type ReplyBudget, typedRow } from './answer.js';
import { UncarriedValue } from './column_type.js';
import { columnName } from './index_model.js';
import { orderSql } from './query_keyset.js';
import { Bindings } from './query_predicate.js';
import { QueryFailure, type Row } from './query_reply.js';
import type { Query } from './query_request.js';
import { type Relation, selected } from './relation.js';
import { conditions, orderKeys, selectList } from './row_plan.js';
import { madeTokens, SEPARATOR, type TokenSource } from './token_store.js';
import { invalid } from './wire/refusal.js';

/** Hits that a search keeps for its later pages. */
const MAX_HITS = 10_000;

export type Ranked = PageStart & { kind: 'ranked' };

function onlyRows(query: Query, what: string): void {
	if (query.aggregate !== undefined) throw new QueryFailure({ Unsupported: `${what} with aggregates` });
	if (query.distinct) throw new QueryFailure({ Unsupported: `${what} with distinct` });
	if (query.vector !== undefined && query.text !== undefined)
		throw new QueryFailure({ Unsupported: 'vector and text search in one query' });
}

/** Hits by the asked order, else by rank. */
function ordered(relation: Relation, query: Query, hits: string, rank: string, limit: number): string {
	const keys = [...orderKeys(relation, query).map(orderSql), `score ${rank}`, '_seq ASC'].join(', ');
	return `SELECT hits.seq, hits.score, count(*) OVER () FROM (${hits}) hits JOIN ${relation.sql} ON _seq = hits.seq
		ORDER BY ${keys} LIMIT ${limit + 1}`;
}

async function ranked(
	db: DuckDBConnection,
	sql: string,
	b: Bindings,
	cap: number,
): Promise<{ hits: Hit[]; total: bigint }> {
	const hits: Hit[] = [];
	let total = 0n;
	await each(db, sql, b, ([sequence, score, count]) => {
		total = count as bigint;
		if (hits.length === cap) return;
		const single = Math.fround(score as number);
		if (!Number.isFinite(single)) throw new UncarriedValue('the score is not a finite number');
		hits.push({ sequence: sequence as bigint, score: single === 0 ? 0 : single });
	});
	return { hits, total };
}

export async function rankByDistance(
	db: DuckDBConnection,
	relation: Relation,
	query: Query,
	highest: bigint,
): Promise<Ranked> {
	onlyRows(query, 'vector search');
	const { field, embedding, topK } = query.vector!;
	const column = relation.byName.get(field);
	if (column === undefined) return invalid('vector', 'query.vector.field', 'no such field in the index');
	const type = column.type;
	if (type?.kind !== 'list' || (type.element.kind !== 'float' && type.element.kind !== 'double'))
		return invalid('vector', 'query.vector.field', 'not a list of floats');
	const b = new Bindings();
	const name = columnName(column);
	const probe = b.add(listValue(embedding), LIST(DOUBLE));
	const length = b.add(BigInt(embedding.length), BIGINT);
	const where = conditions(relation, query, highest, b);
	const nearest = `SELECT _seq AS seq, CASE WHEN len(${name}) = ${length} AND list_count(${name}) = ${length}
			THEN list_distance(CAST(${name} AS DOUBLE[]), ${probe}) END AS score
		FROM ${relation.sql} WHERE ${where} AND len(${name}) = ${length} AND list_count(${name}) = ${length}
		ORDER BY score, seq LIMIT ${topK}`;
	const { hits } = await ranked(db, ordered(relation, query, nearest, 'ASC', topK), b, topK);
	return { kind: 'ranked', hits, at: 0, total: BigInt(hits.length), truncated: false };
}

export async function rankByText(
	db: DuckDBConnection,
	relation: Relation,
	query: Query,
	highest: bigint,
	stored: TokenSource | undefined,
): Promise<Ranked> {
	onlyRows(query, 'text search');
	const { field, query: words } = query.text!;
	const columns = relation.columns.filter(
		(column) => column.type?.kind === 'string' && (field === undefined || column.name === field),
	);
	const known = field === undefined ? undefined : relation.byName.get(field);
	if (field !== undefined && known === undefined)
		invalid('text', 'query.text.field', 'no such field in the index');
	if (known?.type !== undefined && known.type.kind !== 'string')
		invalid('text', 'query.text.field', 'not a text field');
	const none: Ranked = { kind: 'ranked', hits: [], at: 0, total: 0n, truncated: false };
	if (columns.length === 0) return none;
	const b = new Bindings();
	const snapshot = b.add(highest, BIGINT);
	const ids = columns.map((column) => column.id).join(', ');
	const { tokens, lengths } = stored ?? madeTokens(relation.sql, columns);
	const where = conditions(relation, query, highest, b);
	const text = b.add(words, VARCHAR);
	const live = `column_id IN (${ids}) AND seq IN (SELECT _seq FROM ${relation.sql} WHERE _seq <= ${snapshot})`;
	const hits = `
		WITH docs AS (SELECT seq, sum(len) AS len FROM ${lengths} WHERE ${live} GROUP BY seq),
			stats AS (SELECT count(*) AS n, avg(len) AS avg_len FROM docs),
			words AS (SELECT DISTINCT unnest(string_split_regex(lower(${text}), ${SEPARATOR})) AS token),
			found AS (SELECT seq, token, sum(tf) AS tf FROM ${tokens}
				WHERE token IN (SELECT token FROM words WHERE token <> '') AND ${live} GROUP BY seq, token),
			weights AS (SELECT token, ln(1 + (n - count(*) + 0.5) / (count(*) + 0.5)) AS idf
				FROM found, stats GROUP BY token, n)
		SELECT seq, CAST(sum(idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len / avg_len))) AS DOUBLE) AS score
		FROM found JOIN weights USING (token) JOIN docs USING (seq), stats
		WHERE seq IN (SELECT _seq FROM ${relation.sql} WHERE ${where}) GROUP BY seq`;
	const result = await ranked(db, ordered(relation, query, hits, 'DESC', MAX_HITS), b, MAX_HITS);
	return {
		kind: 'ranked',
		hits: result.hits,
		at: 0,
		total: result.total,
		truncated: result.total > BigInt(result.hits.length),
	};
}

/** The rows of the hits from `start` on. Rows that retention has taken meanwhile are left out. */
export async function readHits(
	db: DuckDBConnection,
	relation: Relation,
	query: Query,
	start: Ranked,
	budget: ReplyBudget,
): Promise<Omit<Answer, 'scannedRows'>> {
	const columns = selected(relation, query.select.fields, query.select.payload);
	const fields = columns.map((column) => column.field);
	const hits = start.hits.slice(start.at, start.at + query.page.limit);
	const found = new Map<bigint, Row>();
	const b = new Bindings();
	const wanted = b.add(listValue(hits.map((hit) => hit.sequence)), LIST(BIGINT));
	await each(
		db,
		`SELECT ${selectList(columns)}, _seq FROM ${relation.sql} WHERE _seq IN (SELECT unnest(${wanted}))`,
		b,
		(cells) => void found.set(cells[columns.length] as bigint, budget.take(typedRow(cells, fields))),
	);
	const rows: Row[] = [];
	for (const { sequence, score } of hits) {
		const row = found.get(sequence);
		if (row !== undefined) rows.push({ values: row.values, score });
	}
	const at = start.at + hits.length;
	const more = at < start.hits.length;
	// A vector search is one page by nature.
	const paged = query.vector === undefined;
	return {
		fields,
		rows,
		total: start.total,
		next: more && paged ? { ...start, at } : undefined,
		truncated: start.truncated || (more && !paged),
	};
}
