/** The columns of an index: what a field is called on the wire and in its table, and of which type it is. */
import type { LogicalTypeWire } from './query_reply.js';

/** Types a projection makes. `unknown` is an untyped field that has had no value yet. */
export type ColumnType = 'unknown' | 'string' | 'long' | 'double' | 'boolean';

export const SQL_TYPES: Record<ColumnType, string> = {
	unknown: 'VARCHAR',
	string: 'VARCHAR',
	long: 'BIGINT',
	double: 'DOUBLE',
	boolean: 'BOOLEAN',
};

export interface Column {
	/** Field id on the wire, also the number in the column's own name. */
	id: number;
	name: string;
	/** The type came from a projection's `field_type`, so values are fitted to it and it never widens. */
	declared: boolean;
	type: ColumnType;
}

export interface IndexTable {
	name: string;
	/** Number in the table's own name. */
	number: number;
	columns: Column[];
	byName: Map<string, Column>;
	/** Next row sequence. */
	nextSequence: bigint;
}

export function tableName(index: IndexTable): string {
	return `ix_${index.number}`;
}

export function columnName(column: Column): string {
	return `f${column.id}`;
}

/** On the wire an untyped field without values is a string column of nulls. */
export function logicalType(type: ColumnType): LogicalTypeWire {
	return { kind: type === 'unknown' ? 'string' : type };
}
