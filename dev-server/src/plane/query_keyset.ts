/**
 * Where a page begins: after the last row of the page before, named by its order values and its sequence. So rows that
 * retention takes away meanwhile neither shift nor hide the rows that follow.
 */
import { BIGINT, type DuckDBValue } from '@duckdb/node-api';
import { duckType, fromDuck, SchemaMoved } from './column_type.js';
import type { Bindings } from './query_predicate.js';
import type { Expression } from './relation.js';
import type { LogicalType } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';

export interface OrderKey {
	expression: Expression;
	descending: boolean;
}

export interface LastRow {
	keys: DuckDBValue[];
	/** Undefined where the keys alone tell rows apart. */
	sequence: bigint | undefined;
}

const STRING: LogicalType = { kind: 'string' };

export function orderSql(key: OrderKey): string {
	return `${key.expression.sql} ${key.descending ? 'DESC' : 'ASC'} NULLS LAST`;
}

/** The value as the column holds it now: a long column may have become a double one since. */
function current(value: DuckDBValue, type: LogicalType): DuckDBValue {
	if (type.kind === 'double' && typeof value === 'bigint') return Number(value);
	try {
		fromDuck(value, type);
	} catch (error) {
		if (!(error instanceof SchemaMoved)) throw error;
		invalid('page_cursor', 'query.page.cursor', 'an ordered field changed its type');
	}
	return value;
}

export function afterSql(keys: OrderKey[], last: LastRow, b: Bindings): string {
	const alternatives: string[] = [];
	const equal: string[] = [];
	for (const [i, { expression, descending }] of keys.entries()) {
		const value = last.keys[i]!;
		if (value === null) {
			// Nulls come last: after one only its equals follow.
			equal.push(`${expression.sql} IS NULL`);
			continue;
		}
		const type = expression.type ?? STRING;
		const bound = b.add(current(value, type), duckType(type));
		const after = `(${expression.sql} ${descending ? '<' : '>'} ${bound} OR ${expression.sql} IS NULL)`;
		alternatives.push([...equal, after].join(' AND '));
		equal.push(`${expression.sql} = ${bound}`);
	}
	if (last.sequence !== undefined) {
		alternatives.push([...equal, `_seq > ${b.add(last.sequence, BIGINT)}`].join(' AND '));
	}
	// After the last group there is none.
	if (alternatives.length === 0) return 'FALSE';
	return `(${alternatives.map((alternative) => `(${alternative})`).join(' OR ')})`;
}
