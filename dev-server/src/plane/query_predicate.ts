/**
 * Predicates as SQL over bound parameters. Numbers of any kind compare by exact value, whatever the column's type; any
 * other mismatch of kinds is refused. A comparison with a null cell is neither true nor false, so such a row matches
 * neither a predicate nor its negation; `eq null` and `ne null` test for null itself.
 */
import type { DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { BIGINT, BOOLEAN, DOUBLE, VARCHAR } from '@duckdb/node-api';
import { exactDouble } from './column_value.js';
import type { Filter, Op } from './query_request.js';
import { invalid } from './wire/refusal.js';
import type { TypedValue } from './wire/typed_value.js';

/** What a name in a query stands for. */
export interface Expression {
	sql: string;
	type: 'unknown' | 'string' | 'long' | 'double' | 'boolean' | 'other';
}

export class Bindings {
	readonly values: DuckDBValue[] = [];
	readonly types: DuckDBType[] = [];

	add(value: DuckDBValue, type: DuckDBType): string {
		this.values.push(value);
		this.types.push(type);
		return `$${this.values.length}`;
	}
}

export type Resolve = (field: string, path: string) => Expression;

const COMPARE: Partial<Record<Op, string>> = { eq: '=', ne: '<>', lt: '<', lte: '<=', gt: '>', gte: '>=' };

/** Pads a predicate that is the same for every non-null cell. */
function constant(column: string, outcome: boolean): string {
	return `(CASE WHEN ${column} IS NULL THEN NULL ELSE ${outcome ? 'TRUE' : 'FALSE'} END)`;
}

const I64_MAX = 2n ** 63n - 1n;
const I64_MIN = -(2n ** 63n);

function longAgainst(
	column: string,
	op: Op,
	value: TypedValue & { value: bigint | number },
	b: Bindings,
): string {
	if (typeof value.value === 'bigint') return `(${column} ${COMPARE[op]} ${b.add(value.value, BIGINT)})`;
	const number = value.value;
	if (op === 'eq' || op === 'ne') {
		if (!Number.isInteger(number)) return constant(column, op === 'ne');
		const exact = BigInt(number);
		if (exact < I64_MIN || exact > I64_MAX) return constant(column, op === 'ne');
		return `(${column} ${COMPARE[op]} ${b.add(exact, BIGINT)})`;
	}
	// col < v is col <= ceil(v) - 1, and so on: the bound becomes an integer and the comparison stays exact.
	const upward = op === 'lt' || op === 'gte';
	const bound = BigInt(upward ? Math.ceil(number) : Math.floor(number));
	const below = op === 'lt' || op === 'lte';
	if (bound > I64_MAX) return constant(column, below);
	if (bound < I64_MIN) return constant(column, !below);
	return `(${column} ${COMPARE[op]} ${b.add(bound, BIGINT)})`;
}

function doubleAgainst(
	column: string,
	op: Op,
	value: TypedValue & { value: bigint | number },
	b: Bindings,
): string {
	if (typeof value.value === 'number') return `(${column} ${COMPARE[op]} ${b.add(value.value, DOUBLE)})`;
	const nearest = Number(value.value);
	if (exactDouble(value.value)) return `(${column} ${COMPARE[op]} ${b.add(nearest, DOUBLE)})`;
	if (op === 'eq' || op === 'ne') return constant(column, op === 'ne');
	// No double lies between the value and its nearest double, so the bound moves there with strictness adjusted.
	const nearestAbove = BigInt(nearest) > value.value;
	const below = op === 'lt' || op === 'lte';
	const operator = nearestAbove ? (below ? '<' : '>=') : below ? '<=' : '>';
	return `(${column} ${operator} ${b.add(nearest, DOUBLE)})`;
}

function compare(column: Expression, op: Op, value: TypedValue, b: Bindings, path: string): string {
	if (column.type === 'unknown') return '(NULL = 1)';
	const mismatch = () => invalid('type_mismatch', path, `${value.kind} against a ${column.type} field`);
	switch (value.kind) {
		case 'int':
		case 'long':
		case 'float':
		case 'double':
			if (column.type === 'long') return longAgainst(column.sql, op, value, b);
			if (column.type === 'double') return doubleAgainst(column.sql, op, value, b);
			return mismatch();
		case 'string':
			if (column.type !== 'string') return mismatch();
			return `(${column.sql} ${COMPARE[op]} ${b.add(value.value, VARCHAR)})`;
		case 'boolean':
			if (column.type !== 'boolean') return mismatch();
			return `(${column.sql} ${COMPARE[op]} ${b.add(value.value, BOOLEAN)})`;
		default:
			return mismatch();
	}
}

export function predicate(column: Expression, op: Op, value: TypedValue, b: Bindings, path: string): string {
	if (value.kind === 'null') {
		if (op === 'eq') return `(${column.sql} IS NULL)`;
		if (op === 'ne') return `(${column.sql} IS NOT NULL)`;
		return invalid('type_mismatch', path, `null with ${op}`);
	}
	if (op === 'in') {
		if (value.kind !== 'list') return invalid('filter_in', path);
		return `(${value.value.map((item) => predicate(column, 'eq', item, b, path)).join(' OR ')})`;
	}
	if (op === 'contains' || op === 'prefix') {
		if (value.kind !== 'string' || (column.type !== 'string' && column.type !== 'unknown')) {
			return invalid('type_mismatch', path, `${op} needs text`);
		}
		const call = op === 'contains' ? 'contains' : 'starts_with';
		return `${call}(${column.sql}, ${b.add(value.value, VARCHAR)})`;
	}
	return compare(column, op, value, b, path);
}

export function filterSql(filter: Filter, resolve: Resolve, b: Bindings, path: string): string {
	if ('all' in filter) {
		return `(${filter.all.map((f, i) => filterSql(f, resolve, b, `${path}.all[${i}]`)).join(' AND ')})`;
	}
	if ('any' in filter) {
		return `(${filter.any.map((f, i) => filterSql(f, resolve, b, `${path}.any[${i}]`)).join(' OR ')})`;
	}
	if ('not' in filter) return `(NOT ${filterSql(filter.not, resolve, b, `${path}.not`)})`;
	const { field, op, value } = filter.pred;
	return predicate(resolve(field, `${path}.pred.field`), op, value, b, `${path}.pred`);
}
