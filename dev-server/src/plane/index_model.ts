/** The columns of an index: what a field is called on the wire and in its table, and of which type it is. */
import { sqlType } from './column_type.js';
import type { LogicalType } from './wire/logical_type.js';

/** Types a projection makes. `unknown` is an untyped field that has had no value yet. */
export type ColumnType = 'unknown' | 'string' | 'long' | 'double' | 'boolean';

export interface Column {
	/** Field id on the wire, also the number in the column's own name. */
	id: number;
	name: string;
	/** The type came from a projection's `field_type` or a given schema: it never widens. */
	declared: boolean;
	required: boolean;
	/** Undefined until an untyped field has a value. */
	type: LogicalType | undefined;
	doc?: string | undefined;
}

export interface IndexTable {
	name: string;
	/** Number in the table's own name. */
	number: number;
	/** Made from a given schema; rows come through the server's own API and from no projection. */
	created: boolean;
	/** Created indexes that publish a change for every batch of rows. */
	notify: boolean;
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

const STRING: LogicalType = { kind: 'string' };

/** On the wire, and in the table, an untyped field without values is a string column of nulls. */
export function typeOf(column: Column): LogicalType {
	return column.type ?? STRING;
}

export function columnSql(column: Column): string {
	return `${columnName(column)} ${sqlType(typeOf(column))}`;
}

/** The column as the projector sees it. */
export function projectedType(column: Column): ColumnType {
	return (column.type?.kind as ColumnType | undefined) ?? 'unknown';
}

export function logicalOf(type: ColumnType): LogicalType | undefined {
	return type === 'unknown' ? undefined : { kind: type };
}
