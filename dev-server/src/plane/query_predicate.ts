/**
 * Predicates as SQL over bound parameters. Int, long, float and double compare by exact value, decimals of any precision
 * and scale too; any other mismatch of kinds is refused. Containers are equal or not, and have no order. A comparison
 * with a null cell is neither true nor false, so such a row matches neither a predicate nor its negation; `eq null` and
 * `ne null` test for null itself.
 */
import type { DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { BIGINT, DECIMAL, DOUBLE, DuckDBDecimalValue, VARCHAR } from '@duckdb/node-api';
import { duckType, toDuck } from './column_type.js';
import { exactDouble } from './column_value.js';
import type { Filter, Op } from './query_request.js';
import type { Expression, Resolve } from './relation.js';
import { checkValue, type LogicalType } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';
import { type DecimalValue, type TypedValue, unscaledInteger } from './wire/typed_value.js';

export class Bindings {
	readonly values: DuckDBValue[] = [];
	readonly types: DuckDBType[] = [];

	add(value: DuckDBValue, type: DuckDBType): string {
		this.values.push(value);
		this.types.push(type);
		return `$${this.values.length}`;
	}
}

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

const MAX_DECIMAL = 10n ** 38n - 1n;

/** The column's scale decides: a bound between two of its steps moves to the one beside it. */
function decimalAgainst(column: Expression, op: Op, value: DecimalValue, b: Bindings): string {
	const scale = (column.type as LogicalType & { kind: 'decimal' }).scale;
	const unscaled = unscaledInteger(value.unscaled);
	const below = op === 'lt' || op === 'lte';
	let bound: bigint;
	if (value.scale <= scale) bound = unscaled * 10n ** (scale - value.scale);
	else {
		const step = 10n ** (value.scale - scale);
		const down = unscaled / step - (unscaled < 0n && unscaled % step !== 0n ? 1n : 0n);
		const exact = down * step === unscaled;
		if (!exact && (op === 'eq' || op === 'ne')) return constant(column.sql, op === 'ne');
		bound = exact || op === 'lte' || op === 'gt' ? down : down + 1n;
	}
	if (bound > MAX_DECIMAL || bound < -MAX_DECIMAL) {
		if (op === 'eq' || op === 'ne') return constant(column.sql, op === 'ne');
		return constant(column.sql, below === bound > 0n);
	}
	const decimal = new DuckDBDecimalValue(bound, 38, Number(scale));
	return `(${column.sql} ${COMPARE[op]} ${b.add(decimal, DECIMAL(38, Number(scale)))})`;
}

const CONTAINERS: ReadonlySet<string> = new Set(['struct', 'list', 'map']);

export function isContainer(type: LogicalType | undefined): boolean {
	return type !== undefined && CONTAINERS.has(type.kind);
}

const NUMBERS: ReadonlySet<string> = new Set(['int', 'long', 'float', 'double']);

function compare(column: Expression, op: Op, value: TypedValue, b: Bindings, path: string): string {
	const { sql, type } = column;
	if (type === undefined) return '(NULL = 1)';
	const mismatch = () => invalid('type_mismatch', path, `${value.kind} against a ${type.kind} field`);
	if (NUMBERS.has(type.kind) && NUMBERS.has(value.kind)) {
		const number = value as TypedValue & { value: bigint | number };
		if (type.kind === 'long') return longAgainst(sql, op, number, b);
		if (type.kind === 'int') return longAgainst(`CAST(${sql} AS BIGINT)`, op, number, b);
		return doubleAgainst(type.kind === 'float' ? `CAST(${sql} AS DOUBLE)` : sql, op, number, b);
	}
	if (value.kind !== type.kind) return mismatch();
	if (value.kind === 'decimal') return decimalAgainst(column, op, value.value, b);
	if (CONTAINERS.has(type.kind)) {
		if (op !== 'eq' && op !== 'ne') return mismatch();
		checkValue(value, type, true, path);
	}
	return `(${sql} ${COMPARE[op]} ${b.add(toDuck(value, type), duckType(type))})`;
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
		if (value.kind !== 'string' || (column.type !== undefined && column.type.kind !== 'string')) {
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
