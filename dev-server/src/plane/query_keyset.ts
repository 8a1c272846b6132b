/**
 * Where a page begins: after the last row of the page before, named by its order values and its sequence. So rows that
 * retention takes away meanwhile neither shift nor hide the rows that follow.
 */
import { BIGINT, BOOLEAN, DOUBLE, type DuckDBType, type DuckDBValue, VARCHAR } from '@duckdb/node-api';
import type { Bindings, Expression } from './query_predicate.js';
import { invalid } from './wire/refusal.js';

export interface OrderKey {
	expression: Expression;
	descending: boolean;
}

export interface LastRow {
	keys: DuckDBValue[];
	sequence: bigint;
}

const TYPES: Record<Expression['type'], DuckDBType> = {
	unknown: VARCHAR,
	string: VARCHAR,
	long: BIGINT,
	double: DOUBLE,
	boolean: BOOLEAN,
	other: VARCHAR,
};

const JS_TYPES: Partial<Record<Expression['type'], string>> = {
	string: 'string',
	unknown: 'string',
	long: 'bigint',
	double: 'number',
	boolean: 'boolean',
};

export function orderSql(key: OrderKey): string {
	return `${key.expression.sql} ${key.descending ? 'DESC' : 'ASC'} NULLS LAST`;
}

/** The value as the column holds it now: a long column may have become a double one since. */
function current(value: DuckDBValue, type: Expression['type']): DuckDBValue {
	if (value === null) return null;
	if (type === 'double' && typeof value === 'bigint') return Number(value);
	if (typeof value !== JS_TYPES[type])
		invalid('page_cursor', 'query.page.cursor', 'an ordered field changed its type');
	return value;
}

export function afterSql(keys: OrderKey[], last: LastRow, b: Bindings): string {
	const alternatives: string[] = [];
	const equal: string[] = [];
	for (const [i, { expression, descending }] of keys.entries()) {
		const value = current(last.keys[i]!, expression.type);
		if (value === null) {
			// Nulls come last: after one only its equals follow.
			equal.push(`${expression.sql} IS NULL`);
			continue;
		}
		const bound = b.add(value, TYPES[expression.type]);
		const after = `(${expression.sql} ${descending ? '<' : '>'} ${bound} OR ${expression.sql} IS NULL)`;
		alternatives.push([...equal, after].join(' AND '));
		equal.push(`${expression.sql} = ${bound}`);
	}
	alternatives.push([...equal, `_seq > ${b.add(last.sequence, BIGINT)}`].join(' AND '));
	return `(${alternatives.map((alternative) => `(${alternative})`).join(' OR ')})`;
}
