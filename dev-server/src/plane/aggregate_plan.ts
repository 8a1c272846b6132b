/** Aggregates, groups and windows as SQL. They are one page by nature. */
import { BIGINT, DOUBLE } from '@duckdb/node-api';
import { orderSql } from './query_keyset.js';
import { Bindings, filterSql, isContainer } from './query_predicate.js';
import type { AggCall, Aggregate, Query } from './query_request.js';
import { type Expression, type Relation, type Resolve, resolver } from './relation.js';
import { conditions, cut, type Plan, type RowStart } from './row_plan.js';
import type { LogicalType } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';

interface Output extends Expression {
	name: string;
	required: boolean;
}

const LONG: LogicalType = { kind: 'long' };
const DOUBLE_TYPE: LogicalType = { kind: 'double' };
const MAX_LONG = 2n ** 63n - 1n;

export function aggregatePlan(relation: Relation, query: Query, start: RowStart): Plan {
	const page = build(relation, query, start);
	const total = build(relation, query, start);
	const named = resultResolver(page.outputs);
	const order = query.order.map(({ field, dir }, i) => {
		const expression = named(field, `query.order[${i}]`);
		if (isContainer(expression.type)) invalid('query_name', `query.order[${i}]`, 'not an ordered field');
		return orderSql({ expression, descending: dir === 'desc' });
	});
	const ties = page.outputs.map((_, i) => `o${i} ASC NULLS LAST`);
	return {
		columns: page.outputs.map((output, i) => ({
			field: {
				id: BigInt(i + 1),
				name: output.name,
				required: output.required,
				field_type: output.type ?? { kind: 'string' },
			},
			sql: `o${i}`,
		})),
		sql: `SELECT * FROM (${page.sql}) ORDER BY ${[...order, ...ties].join(', ')} ${cut(query.page.limit, start.skip, page.b)}`,
		params: page.b,
		totalSql: `SELECT count(*) FROM (${total.sql})`,
		totalParams: total.b,
		next: undefined,
	};
}

function build(
	relation: Relation,
	query: Query,
	start: RowStart,
): { outputs: Output[]; b: Bindings; sql: string } {
	const aggregate = query.aggregate!;
	const resolve = resolver(relation);
	const b = new Bindings();
	const outputs: Output[] = aggregate.group_by.map((name, i) => {
		const at = `query.aggregate.group_by[${i}]`;
		const { sql, type } = resolve(name, at);
		// The inner ids of a container could be those of other results.
		if (isContainer(type)) invalid('aggregate', at, 'not a scalar field');
		return { name, sql, type, required: false };
	});
	if (aggregate.window !== undefined) outputs.push(windowOf(aggregate.window, resolve, b));
	const keyCount = outputs.length;
	for (const [i, call] of aggregate.funcs.entries())
		outputs.push(functionOf(call, resolve, b, `query.aggregate.funcs[${i}]`));
	const names = new Set(outputs.map((output) => output.name));
	if (names.size !== outputs.length) invalid('aggregate', 'query.aggregate', 'two results of one name');
	const list = outputs.map((output, i) => `${output.sql} AS o${i}`).join(', ');
	const keys = Array.from({ length: keyCount }, (_, i) => i + 1).join(', ');
	let sql = `SELECT ${list} FROM ${relation.sql} WHERE ${conditions(relation, query, start.highest, b)}`;
	if (keyCount > 0) sql += ` GROUP BY ${keys}`;
	if (query.having !== undefined) {
		const having = filterSql(query.having, resultResolver(outputs), b, 'query.having');
		sql = `SELECT * FROM (${sql}) WHERE ${having}`;
	}
	return { outputs, b, sql };
}

/** The start of the window that a time falls in, epoch micros; rounded down also before 1970. */
function windowOf(window: NonNullable<Aggregate['window']>, resolve: Resolve, b: Bindings): Output {
	const at = 'query.aggregate.window';
	const field = resolve(window.field, `${at}.field`);
	const kind = field.type?.kind;
	const time = kind === 'timestamp_micros' || kind === 'timestamp_tz_micros';
	if (!time && kind !== 'long' && kind !== 'int')
		invalid('window', `${at}.field`, 'a window needs a time field');
	if (window.every_micros > MAX_LONG) invalid('window', `${at}.every_micros`);
	const every = b.add(window.every_micros, BIGINT);
	const micros = time ? `epoch_us(${field.sql})` : `CAST(${field.sql} AS BIGINT)`;
	return {
		name: 'window_start',
		// In 128 bits: beside the ends of 64 the sum would not fit.
		sql: `CAST(${micros} - ((CAST(${micros} AS HUGEINT) % ${every}) + ${every}) % ${every} AS BIGINT)`,
		type: LONG,
		required: false,
	};
}

function resultResolver(outputs: readonly Output[]): Resolve {
	return (name, path) => {
		const at = outputs.findIndex((output) => output.name === name);
		if (at < 0) invalid('query_name', path, 'no such result field');
		return { sql: `o${at}`, type: outputs[at]!.type };
	};
}

function functionOf(call: AggCall, resolve: Resolve, b: Bindings, path: string): Output {
	const name = call.alias;
	if (call.func === 'count') {
		const inner = call.field === undefined ? '*' : resolve(call.field, `${path}.field`).sql;
		return { name, sql: `count(${inner})`, type: LONG, required: true };
	}
	const { sql, type } = resolve(call.field!, `${path}.field`);
	if (call.func === 'count_distinct') {
		return { name, sql: `count(DISTINCT ${sql})`, type: LONG, required: true };
	}
	if (call.func === 'min' || call.func === 'max') {
		if (isContainer(type)) invalid('aggregate', path, 'not an ordered field');
		return { name, sql: `${call.func}(${sql})`, type, required: false };
	}
	const number = (): string => {
		if (type === undefined) return `CAST(${sql} AS DOUBLE)`;
		switch (type.kind) {
			case 'int':
			case 'long':
			case 'double':
			case 'decimal':
				return sql;
			case 'float':
				return `CAST(${sql} AS DOUBLE)`;
			default:
				return invalid('aggregate', path, `${call.func} needs a number field`);
		}
	};
	const inner = number();
	const double = (expression: string): Output => ({
		name,
		sql: expression,
		type: DOUBLE_TYPE,
		required: false,
	});
	switch (call.func) {
		case 'sum':
			// Added up in 128 bits; a sum beyond the result's type fails the query, it is never rounded.
			if (type?.kind === 'int' || type?.kind === 'long')
				return { name, sql: `CAST(sum(${inner}) AS BIGINT)`, type: LONG, required: false };
			if (type?.kind === 'decimal') {
				const sum: LogicalType = { kind: 'decimal', precision: 38n, scale: type.scale };
				return { name, sql: `CAST(sum(${inner}) AS DECIMAL(38, ${type.scale}))`, type: sum, required: false };
			}
			return double(`sum(${inner})`);
		case 'avg':
			return double(`CAST(avg(${inner}) AS DOUBLE)`);
		case 'std_dev':
			return double(`stddev_samp(CAST(${inner} AS DOUBLE))`);
		default:
			return double(`quantile_cont(CAST(${inner} AS DOUBLE), ${b.add(call.arg!, DOUBLE)})`);
	}
}
