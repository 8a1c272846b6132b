/** What a query reads: rows in SQL, their fields, and where the rows came from. */
import { type Column, columnName, type IndexTable, tableName, typeOf } from './index_model.js';
import { type LogicalField, type LogicalType, PROVENANCE_IDS } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';

/** What a name in a query stands for. Without a type it is an untyped field that has had no value yet. */
export interface Expression {
	sql: string;
	type: LogicalType | undefined;
}

export interface Provenance {
	sql: string;
	type: LogicalType;
	required: boolean;
}

export interface Relation {
	/** What stands after FROM. It has `_seq`, unique and growing with each row, and a column for every field. */
	sql: string;
	columns: readonly Column[];
	byName: ReadonlyMap<string, Column>;
	provenance: Readonly<Record<string, Provenance>>;
	/** Where a field `ts` is missing: time of the row, epoch micros. */
	time: string;
}

export type Resolve = (name: string, path: string) => Expression;

const LONG: LogicalType = { kind: 'long' };

function long(sql: string): Provenance {
	return { sql: `CAST(${sql} AS BIGINT)`, type: LONG, required: true };
}

const OPERATIONAL: Record<string, Provenance> = {
	__laser_partition_id: long('_partition'),
	__laser_offset: long('_offset'),
	__laser_row_ordinal: long('0'),
	__laser_projection_id: { sql: '_projection', type: { kind: 'string' }, required: false },
	__laser_projection_version: { ...long('_projection_version'), required: false },
	__laser_original_payload: { sql: '_payload', type: { kind: 'binary' }, required: false },
	__laser_original_content_type: {
		sql: 'CAST(_content_type AS INTEGER)',
		type: { kind: 'int' },
		required: false,
	},
};

export const PAYLOAD = '__laser_original_payload';

export function indexRelation(index: IndexTable): Relation {
	const { columns, byName } = index;
	return { sql: tableName(index), columns, byName, provenance: OPERATIONAL, time: '_ts' };
}

/** `ts` is the field of that name, otherwise the time at which the row was appended. */
export function resolver(relation: Relation): Resolve {
	return (name, path) => {
		const column = relation.byName.get(name);
		if (column !== undefined) return { sql: columnName(column), type: column.type };
		if (name === 'ts') return { sql: relation.time, type: LONG };
		if (Object.hasOwn(relation.provenance, name)) return relation.provenance[name]!;
		return invalid('query_name', path, 'no such field in the index');
	};
}

export interface OutputColumn {
	field: LogicalField;
	sql: string;
}

export function outputOf(relation: Relation, name: string, path: string): OutputColumn {
	const column = relation.byName.get(name);
	if (column !== undefined) {
		const { id, required, doc } = column;
		return {
			field: { id: BigInt(id), name, required, field_type: typeOf(column), doc },
			sql: columnName(column),
		};
	}
	if (!Object.hasOwn(relation.provenance, name)) invalid('query_name', path, 'no such field in the index');
	const { sql, type, required } = relation.provenance[name]!;
	return { field: { id: PROVENANCE_IDS.get(name)!, name, required, field_type: type }, sql };
}

/** The fields a query selects. */
export function selected(
	relation: Relation,
	fields: readonly string[],
	payload: boolean,
): [OutputColumn, ...OutputColumn[]] {
	const names = fields.length > 0 ? [...fields] : relation.columns.map((column) => column.name);
	const seen = new Set<string>();
	for (const [i, name] of names.entries()) {
		if (seen.has(name)) invalid('query_name', `query.select.fields[${i}]`, 'repeated');
		seen.add(name);
	}
	if (payload && !seen.has(PAYLOAD)) names.push(PAYLOAD);
	// A result has at least one field; an index without columns has only where its rows came from.
	if (names.length === 0) names.push('__laser_offset');
	return names.map((name, i) => outputOf(relation, name, `query.select.fields[${i}]`)) as [
		OutputColumn,
		...OutputColumn[],
	];
}
