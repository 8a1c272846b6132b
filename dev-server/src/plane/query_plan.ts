/** A query on an operational index as SQL: names resolved to columns, values bound, pages cut by row order. */
import { BIGINT } from '@duckdb/node-api';
import { type Column, columnName, type IndexTable, logicalType, tableName } from './index_model.js';
import { afterSql, type LastRow, type OrderKey, orderSql } from './query_keyset.js';
import { Bindings, type Expression, filterSql, predicate } from './query_predicate.js';
import type { LogicalField, LogicalTypeWire } from './query_reply.js';
import { QueryFailure } from './query_reply.js';
import type { AggCall, Query } from './query_request.js';
import { invalid } from './wire/refusal.js';

export interface OutputColumn {
	field: LogicalField;
	sql: string;
}

export interface Plan {
	columns: OutputColumn[];
	/** Rows of the page and one more, to know whether more follow. */
	sql: string;
	params: Bindings;
	totalSql: string;
	totalParams: Bindings;
	aggregate: boolean;
	/** Order values that follow the columns in each row, and then its sequence; undefined when pages go by offset. */
	orderKeys: number | undefined;
}

interface Provenance {
	id: bigint;
	sql: string;
	type: LogicalTypeWire;
	required: boolean;
	filter: Expression['type'];
}

/** Provenance that this server knows; the others of the contract name things it does not have. */
const PROVENANCE: Record<string, Provenance> = {
	__laser_partition_id: long(2000000005n, 'CAST(_partition AS BIGINT)'),
	__laser_offset: long(2000000006n, 'CAST(_offset AS BIGINT)'),
	__laser_row_ordinal: long(2000000007n, 'CAST(0 AS BIGINT)'),
	__laser_projection_id: {
		id: 2000000008n,
		sql: '_projection',
		type: { kind: 'string' },
		required: true,
		filter: 'string',
	},
	__laser_projection_version: long(2000000009n, 'CAST(_projection_version AS BIGINT)'),
	__laser_original_payload: {
		id: 2000000012n,
		sql: '_payload',
		type: { kind: 'binary' },
		required: false,
		filter: 'other',
	},
	__laser_original_content_type: {
		id: 2000000013n,
		sql: 'CAST(_content_type AS INTEGER)',
		type: { kind: 'int' },
		required: false,
		filter: 'long',
	},
};

function long(id: bigint, sql: string): Provenance {
	return { id, sql, type: { kind: 'long' }, required: true, filter: 'long' };
}

const PAYLOAD = '__laser_original_payload';

/** Position of a page within the rows of its snapshot. */
export interface PageStart {
	/** Rows with a higher sequence arrived after the first page and stay out. */
	snapshot: bigint;
	/** Rows to leave out: the offset of a first page, or the rows so far where there is no `after`. */
	skip: bigint;
	after?: LastRow;
}

export function makePlan(index: IndexTable, query: Query, start: PageStart): Plan {
	if (query.vector) throw new QueryFailure({ Unsupported: 'vector search' });
	if (query.text) throw new QueryFailure({ Unsupported: 'text search' });
	if (query.raw_sql) throw new QueryFailure({ Unsupported: 'raw sql' });
	if (query.fork !== undefined) throw new QueryFailure({ Unsupported: 'forks' });
	return query.aggregate === undefined ? rowPlan(index, query, start) : aggregatePlan(index, query, start);
}

function expressionOf(column: Column): Expression {
	return { sql: columnName(column), type: column.type };
}

/** `ts` is the indexed field of that name, or else the time at which the record was appended. */
function resolver(index: IndexTable): (name: string, path: string) => Expression {
	return (name, path) => {
		const column = index.byName.get(name);
		if (column !== undefined) return expressionOf(column);
		if (name === 'ts') return { sql: '_ts', type: 'long' };
		if (Object.hasOwn(PROVENANCE, name))
			return { sql: PROVENANCE[name]!.sql, type: PROVENANCE[name]!.filter };
		return invalid('query_name', path, 'no such field in the index');
	};
}

function conditions(index: IndexTable, query: Query, start: PageStart, b: Bindings): string {
	const resolve = resolver(index);
	const parts = [`_seq <= ${b.add(start.snapshot, BIGINT)}`];
	for (const [i, key] of query.by_key.entries()) {
		const at = `query.by_key[${i}]`;
		parts.push(predicate(resolve(key.field, at), 'eq', key.value, b, at));
	}
	if (query.message_type !== undefined) {
		const value = { kind: 'string', value: query.message_type } as const;
		parts.push(
			predicate(resolve('message_type', 'query.message_type'), 'eq', value, b, 'query.message_type'),
		);
	}
	if (query.time_range !== undefined) {
		const [low, high] = query.time_range;
		const ts = resolve('ts', 'query.time_range');
		const bound = (value: bigint) => ({ kind: 'long', value: value > MAX_LONG ? MAX_LONG : value }) as const;
		parts.push(predicate(ts, 'gte', bound(low), b, 'query.time_range'));
		parts.push(predicate(ts, 'lte', bound(high), b, 'query.time_range'));
	}
	if (query.filter !== undefined) parts.push(filterSql(query.filter, resolve, b, 'query.filter'));
	return parts.join(' AND ');
}

const MAX_LONG = 2n ** 63n - 1n;

function rowPlan(index: IndexTable, query: Query, start: PageStart): Plan {
	const columns = selected(index, query);
	const list = columns.map((column, i) => `${column.sql} AS o${i}`).join(', ');
	const resolve = resolver(index);
	const keys = query.order.map(({ field, dir }, i): OrderKey => {
		const expression = resolve(field, `query.order[${i}]`);
		if (expression.type === 'other') invalid('query_name', `query.order[${i}]`, 'not an ordered field');
		return { expression, descending: dir === 'desc' };
	});
	const build = (): { from: string; b: Bindings } => {
		const b = new Bindings();
		return { from: `FROM ${tableName(index)} WHERE ${conditions(index, query, start, b)}`, b };
	};
	const page = build();
	const total = build();
	if (query.distinct) {
		const names = columns.map((_, i) => `o${i}`);
		const keys = query.order.map(({ field, dir }, i) => {
			const at = columns.findIndex((column) => column.field.name === field);
			if (at < 0)
				invalid('query_name', `query.order[${i}]`, 'a distinct query orders by its selected fields');
			return `o${at} ${dir === 'asc' ? 'ASC' : 'DESC'} NULLS LAST`;
		});
		// All selected fields break ties, so that pages cut the same sequence.
		const sorted = [...keys, ...names.map((n) => `${n} ASC NULLS LAST`)].join(', ');
		return {
			columns,
			sql: `SELECT * FROM (SELECT DISTINCT ${list} ${page.from}) ORDER BY ${sorted} ${cut(query, start, page.b)}`,
			params: page.b,
			totalSql: `SELECT count(*) FROM (SELECT DISTINCT ${list} ${total.from})`,
			totalParams: total.b,
			aggregate: false,
			orderKeys: undefined,
		};
	}
	const hidden = [...keys.map(({ expression }) => expression.sql), '_seq'].join(', ');
	const after = start.after === undefined ? '' : ` AND ${afterSql(keys, start.after, page.b)}`;
	const order = [...keys.map(orderSql), '_seq ASC'].join(', ');
	return {
		columns,
		sql: `SELECT ${list}, ${hidden} ${page.from}${after} ORDER BY ${order} ${cut(query, start, page.b)}`,
		params: page.b,
		totalSql: `SELECT count(*) ${total.from}`,
		totalParams: total.b,
		aggregate: false,
		orderKeys: keys.length,
	};
}

function cut(query: Query, start: PageStart, b: Bindings): string {
	return `LIMIT ${b.add(BigInt(query.page.limit) + 1n, BIGINT)} OFFSET ${b.add(start.skip, BIGINT)}`;
}

function selected(index: IndexTable, query: Query): OutputColumn[] {
	const columns: OutputColumn[] = [];
	const names =
		query.select.fields.length > 0 ? query.select.fields : index.columns.map((column) => column.name);
	for (const [i, name] of names.entries()) {
		if (columns.some((column) => column.field.name === name)) {
			invalid('query_name', `query.select.fields[${i}]`, 'repeated');
		}
		columns.push(outputOf(index, name, `query.select.fields[${i}]`));
	}
	if (query.select.payload && !names.includes(PAYLOAD))
		columns.push(outputOf(index, PAYLOAD, 'query.select'));
	// A result has at least one field; an index without columns has only where its rows came from.
	if (columns.length === 0) columns.push(outputOf(index, '__laser_offset', 'query.select'));
	return columns;
}

function outputOf(index: IndexTable, name: string, path: string): OutputColumn {
	const column = index.byName.get(name);
	if (column !== undefined) {
		return {
			field: { id: BigInt(column.id), name, required: false, field_type: logicalType(column.type) },
			sql: columnName(column),
		};
	}
	if (!Object.hasOwn(PROVENANCE, name)) invalid('query_name', path, 'no such field in the index');
	const { id, sql, type, required } = PROVENANCE[name]!;
	return { field: { id, name, required, field_type: type }, sql };
}

interface NamedExpression {
	name: string;
	sql: string;
	type: Expression['type'];
	required: boolean;
}

function aggregatePlan(index: IndexTable, query: Query, start: PageStart): Plan {
	const aggregate = query.aggregate!;
	const resolve = resolver(index);
	const groups: NamedExpression[] = aggregate.group_by.map((name, i) => {
		const key = resolve(name, `query.aggregate.group_by[${i}]`);
		return { name, sql: key.sql, type: key.type, required: false };
	});
	const build = (): { outputs: NamedExpression[]; b: Bindings; sql: string } => {
		const b = new Bindings();
		const outputs = [...groups];
		if (aggregate.window !== undefined) {
			const ts = resolve(aggregate.window.field, 'query.aggregate.window.field');
			if (ts.type !== 'long')
				invalid('window', 'query.aggregate.window.field', 'a window needs an integer field');
			if (aggregate.window.every_micros > MAX_LONG) invalid('window', 'query.aggregate.window.every_micros');
			const every = b.add(aggregate.window.every_micros, BIGINT);
			outputs.push({
				name: 'window_start',
				// Rounded down also before 1970.
				sql: `(${ts.sql} - ((${ts.sql} % ${every}) + ${every}) % ${every})`,
				type: 'long',
				required: false,
			});
		}
		const keyCount = outputs.length;
		for (const [i, call] of aggregate.funcs.entries())
			outputs.push(functionOf(call, resolve, `query.aggregate.funcs[${i}]`));
		const names = new Set(outputs.map((output) => output.name));
		if (names.size !== outputs.length) invalid('aggregate', 'query.aggregate', 'two results of one name');
		const list = outputs.map((output, i) => `${output.sql} AS o${i}`).join(', ');
		const keys = Array.from({ length: keyCount }, (_, i) => i + 1).join(', ');
		let sql = `SELECT ${list} FROM ${tableName(index)} WHERE ${conditions(index, query, start, b)}`;
		if (keyCount > 0) sql += ` GROUP BY ${keys}`;
		if (query.having !== undefined) {
			const having = filterSql(query.having, resultResolver(outputs), b, 'query.having');
			sql = `SELECT * FROM (${sql}) WHERE ${having}`;
		}
		return { outputs, b, sql };
	};
	const page = build();
	const total = build();
	const named = resultResolver(page.outputs);
	const order = query.order.map(
		({ field, dir }, i) =>
			`${named(field, `query.order[${i}]`).sql} ${dir === 'asc' ? 'ASC' : 'DESC'} NULLS LAST`,
	);
	const ties = page.outputs.map((_, i) => `o${i} ASC NULLS LAST`);
	return {
		columns: page.outputs.map((output, i) => ({
			field: {
				id: BigInt(i + 1),
				name: output.name,
				required: output.required,
				field_type: { kind: output.type === 'unknown' ? 'string' : output.type },
			},
			sql: `o${i}`,
		})),
		sql: `SELECT * FROM (${page.sql}) ORDER BY ${[...order, ...ties].join(', ')} ${cut(query, start, page.b)}`,
		params: page.b,
		totalSql: `SELECT count(*) FROM (${total.sql})`,
		totalParams: total.b,
		aggregate: true,
		orderKeys: undefined,
	};
}

function resultResolver(outputs: NamedExpression[]): (name: string, path: string) => Expression {
	return (name, path) => {
		const at = outputs.findIndex((output) => output.name === name);
		if (at < 0) invalid('query_name', path, 'no such result field');
		return { sql: `o${at}`, type: outputs[at]!.type };
	};
}

function functionOf(
	call: AggCall,
	resolve: (name: string, path: string) => Expression,
	path: string,
): NamedExpression {
	const name = call.alias;
	if (call.func === 'count') {
		const inner = call.field === undefined ? '*' : resolve(call.field, `${path}.field`).sql;
		return { name, sql: `count(${inner})`, type: 'long', required: true };
	}
	const operand = resolve(call.field!, `${path}.field`);
	if (call.func === 'count_distinct') {
		return { name, sql: `count(DISTINCT ${operand.sql})`, type: 'long', required: true };
	}
	if (call.func === 'min' || call.func === 'max') {
		if (operand.type === 'other') invalid('aggregate', path, 'not an ordered field');
		return { name, sql: `${call.func}(${operand.sql})`, type: operand.type, required: false };
	}
	if (operand.type !== 'long' && operand.type !== 'double' && operand.type !== 'unknown') {
		invalid('aggregate', path, `${call.func} needs a number field`);
	}
	const number = operand.type === 'unknown' ? `CAST(${operand.sql} AS DOUBLE)` : operand.sql;
	switch (call.func) {
		case 'sum':
			// Added up in 128 bits; a sum beyond 64 fails the query, it is never rounded.
			return operand.type === 'long'
				? { name, sql: `CAST(sum(${number}) AS BIGINT)`, type: 'long', required: false }
				: { name, sql: `sum(${number})`, type: 'double', required: false };
		case 'avg':
			return { name, sql: `avg(${number})`, type: 'double', required: false };
		case 'std_dev':
			return { name, sql: `stddev_samp(${number})`, type: 'double', required: false };
		default: {
			// The contract has checked the fraction: a finite number in 0..1.
			const fraction = call.arg!.toFixed(12);
			return {
				name,
				sql: `quantile_cont(CAST(${number} AS DOUBLE), ${fraction})`,
				type: 'double',
				required: false,
			};
		}
	}
}
