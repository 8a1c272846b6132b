/** A query for rows as SQL: names resolved to columns, values bound, pages cut by row order. */
import { BIGINT } from '@duckdb/node-api';
import { afterSql, type LastRow, type OrderKey, orderSql } from './query_keyset.js';
import { Bindings, filterSql, isContainer, predicate } from './query_predicate.js';
import type { Query } from './query_request.js';
import { type OutputColumn, type Relation, resolver, selected } from './relation.js';
import { invalid } from './wire/refusal.js';

/** Position of a page within the rows of its snapshot. */
export interface RowStart {
	/** Rows with a higher sequence arrived after the first page and stay out. */
	highest: bigint;
	/** Rows to leave out; an offset of a first page. */
	skip: bigint;
	after?: LastRow | undefined;
}

export interface Plan {
	columns: OutputColumn[];
	/** Rows of the page and one more, to know whether more follow. */
	sql: string;
	params: Bindings;
	totalSql: string;
	totalParams: Bindings;
	/** Where in a row the values stand that say where the next page begins; undefined for a single page. */
	next: { keys: number[]; sequence: number | undefined } | undefined;
}

const MAX_LONG = 2n ** 63n - 1n;

/** The WHERE of a query, its snapshot included. */
export function conditions(relation: Relation, query: Query, highest: bigint, b: Bindings): string {
	const resolve = resolver(relation);
	const parts = [`_seq <= ${b.add(highest, BIGINT)}`];
	for (const [i, key] of query.by_key.entries()) {
		const at = `query.by_key[${i}]`;
		parts.push(predicate(resolve(key.field, at), 'eq', key.value, b, at));
	}
	if (query.message_type !== undefined) {
		const value = { kind: 'string', value: query.message_type } as const;
		const at = 'query.message_type';
		parts.push(predicate(resolve('message_type', at), 'eq', value, b, at));
	}
	if (query.time_range !== undefined) {
		const [low, high] = query.time_range;
		const ts = resolve('ts', 'query.time_range');
		const zoned = ts.type?.kind === 'timestamp_micros' || ts.type?.kind === 'timestamp_tz_micros';
		const kind = zoned ? (ts.type!.kind as 'timestamp_micros') : 'long';
		const bound = (value: bigint) => ({ kind, value: value > MAX_LONG ? MAX_LONG : value }) as const;
		parts.push(predicate(ts, 'gte', bound(low), b, 'query.time_range'));
		parts.push(predicate(ts, 'lte', bound(high), b, 'query.time_range'));
	}
	if (query.filter !== undefined) parts.push(filterSql(query.filter, resolve, b, 'query.filter'));
	return parts.join(' AND ');
}

export function orderKeys(relation: Relation, query: Query): OrderKey[] {
	const resolve = resolver(relation);
	return query.order.map(({ field, dir }, i) => {
		const expression = resolve(field, `query.order[${i}]`);
		if (isContainer(expression.type)) invalid('query_name', `query.order[${i}]`, 'not an ordered field');
		return { expression, descending: dir === 'desc' };
	});
}

export function selectList(columns: readonly OutputColumn[]): string {
	return columns.map((column, i) => `${column.sql} AS o${i}`).join(', ');
}

export function cut(limit: number, skip: bigint, b: Bindings): string {
	const offset = skip > MAX_LONG ? MAX_LONG : skip;
	return `LIMIT ${b.add(BigInt(limit) + 1n, BIGINT)} OFFSET ${b.add(offset, BIGINT)}`;
}

export function rowPlan(relation: Relation, query: Query, start: RowStart): Plan {
	if (query.distinct) return distinctPlan(relation, query, start);
	const columns = selected(relation, query.select.fields, query.select.payload);
	const keys = orderKeys(relation, query);
	const b = new Bindings();
	const where = conditions(relation, query, start.highest, b);
	const after = start.after === undefined ? '' : ` AND ${afterSql(keys, start.after, b)}`;
	const hidden = [...keys.map(({ expression }, i) => `${expression.sql} AS k${i}`), '_seq'].join(', ');
	const order = [...keys.map(orderSql), '_seq ASC'].join(', ');
	const totalParams = new Bindings();
	const totalWhere = conditions(relation, query, start.highest, totalParams);
	return {
		columns,
		sql: `SELECT ${selectList(columns)}, ${hidden} FROM ${relation.sql} WHERE ${where}${after}
			ORDER BY ${order} ${cut(query.page.limit, start.skip, b)}`,
		params: b,
		totalSql: `SELECT count(*) FROM ${relation.sql} WHERE ${totalWhere}`,
		totalParams,
		next: { keys: keys.map((_, i) => columns.length + i), sequence: columns.length + keys.length },
	};
}

/** Rows told apart by their selected values: those values, in the asked order first, say where a page begins. */
function distinctPlan(relation: Relation, query: Query, start: RowStart): Plan {
	const columns = selected(relation, query.select.fields, query.select.payload);
	const first = query.order.map(({ field, dir }, i) => {
		const at = columns.findIndex((column) => column.field.name === field);
		if (at < 0) invalid('query_name', `query.order[${i}]`, 'a distinct query orders by its selected fields');
		const type = columns[at]!.field.field_type;
		if (isContainer(type)) invalid('query_name', `query.order[${i}]`, 'not an ordered field');
		return { at, descending: dir === 'desc' };
	});
	const rest = columns
		.map((_, at) => ({ at, descending: false }))
		.filter(({ at }) => first.every((key) => key.at !== at));
	const places = [...first, ...rest];
	const keys = places.map(
		({ at, descending }): OrderKey => ({
			expression: { sql: `o${at}`, type: columns[at]!.field.field_type },
			descending,
		}),
	);
	const b = new Bindings();
	const distinct = (bindings: Bindings) =>
		`SELECT DISTINCT ${selectList(columns)} FROM ${relation.sql}
		 WHERE ${conditions(relation, query, start.highest, bindings)}`;
	const inner = distinct(b);
	const after = start.after === undefined ? '' : ` WHERE ${afterSql(keys, start.after, b)}`;
	const totalParams = new Bindings();
	return {
		columns,
		sql: `SELECT * FROM (${inner})${after} ORDER BY ${keys.map(orderSql).join(', ')}
			${cut(query.page.limit, start.skip, b)}`,
		params: b,
		totalSql: `SELECT count(*) FROM (${distinct(totalParams)})`,
		totalParams,
		next: { keys: places.map(({ at }) => at), sequence: undefined },
	};
}
