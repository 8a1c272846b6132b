/** A client's own statement: one SELECT, its parameters bound, in the sandbox of its target. */
import {
	type DuckDBConnection,
	type DuckDBPreparedStatement,
	type DuckDBType,
	type DuckDBValue,
	SQLNULL,
	StatementType,
} from '@duckdb/node-api';
import type { Answer, PageStart } from './answer.js';
import { duckType, fromDuck, sizeOf, toDuck } from './column_type.js';
import { rows } from './database.js';
import { SQL_DIALECT } from './hello.js';
import { QueryFailure, type Row } from './query_reply.js';
import type { RawSql } from './query_request.js';
import { adapt, resultFields } from './sql_result.js';
import type { LogicalType } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';
import type { TypedValue } from './wire/typed_value.js';

/** What an execution keeps for its later pages; a result beyond it is cut off and said to be. */
const MAX_KEPT_ROWS = 100_000;
const MAX_KEPT_BYTES = 67_108_864;

export type Kept = PageStart & { kind: 'kept' };

const PATH = 'query.raw_sql.sql';

/** Parses nothing itself: the database says whether the text is one SELECT. */
async function oneSelect(db: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
	const [row] = await rows(db, 'SELECT json_serialize_sql($1::VARCHAR)', [sql]);
	const parsed = JSON.parse(row![0] as string) as {
		error: boolean;
		error_message?: string;
		statements?: unknown[];
	};
	if (parsed.error) return invalid('raw_sql', PATH, parsed.error_message);
	if (parsed.statements?.length !== 1) return invalid('raw_sql', PATH, 'exactly one statement expected');
	try {
		const statements = await db.extractStatements(sql);
		if (statements.count !== 1) return invalid('raw_sql', PATH, 'exactly one statement expected');
		const statement = await statements.prepare(0);
		if (statement.statementType !== StatementType.SELECT)
			return invalid('raw_sql', PATH, 'only SELECT is served');
		return statement;
	} catch (error) {
		// Names that do not exist, files, types that do not fit.
		if (error instanceof Error && / Error: /.test(error.message) && !/^INTERRUPT/.test(error.message))
			return invalid('raw_sql', PATH, error.message);
		throw error;
	}
}

function bindAll(statement: DuckDBPreparedStatement, params: readonly TypedValue[]): void {
	if (statement.parameterCount !== params.length) {
		invalid('raw_sql', 'query.raw_sql.params', `the statement takes ${statement.parameterCount} parameters`);
	}
	const values: DuckDBValue[] = [];
	const types: DuckDBType[] = [];
	for (const [i, value] of params.entries()) {
		const type = parameterType(value, `query.raw_sql.params[${i}]`);
		values.push(type === undefined ? null : toDuck(value, type));
		types.push(type === undefined ? SQLNULL : duckType(type));
	}
	if (values.length > 0) statement.bind(values, types);
}

/** The type that a value has by itself; undefined for a null. */
function parameterType(value: TypedValue, path: string): LogicalType | undefined {
	switch (value.kind) {
		case 'null':
			return undefined;
		case 'decimal': {
			const { precision, scale } = value.value;
			return { kind: 'decimal', precision, scale };
		}
		case 'fixed':
			return { kind: 'fixed', length: BigInt(value.value.length) };
		case 'list': {
			const element = commonType(value.value, path);
			return { kind: 'list', element_id: 1n, element_required: false, element };
		}
		case 'struct':
			return {
				kind: 'struct',
				fields: value.value.map((entry) => ({
					id: entry.field_id,
					name: `f${entry.field_id}`,
					required: false,
					field_type: parameterType(entry.value, path) ?? { kind: 'string' },
				})),
			};
		case 'map':
			return {
				kind: 'map',
				key_id: 1n,
				key: commonType(
					value.value.map((entry) => entry.key),
					path,
				),
				value_id: 2n,
				value_required: false,
				value: commonType(
					value.value.map((entry) => entry.value),
					path,
				),
			};
		default:
			return { kind: value.kind };
	}
}

function commonType(values: readonly TypedValue[], path: string): LogicalType {
	let common: LogicalType | undefined;
	for (const value of values) {
		const type = parameterType(value, path);
		common ??= type;
		if (type !== undefined && type.kind !== common!.kind) invalid('raw_sql', path, 'values of several kinds');
	}
	return common ?? { kind: 'string' };
}

/** Runs the statement once and keeps its result: nothing else could give the same order again. */
export async function runSql(
	db: DuckDBConnection,
	raw: RawSql,
	wantTotal: boolean,
	running: () => void,
): Promise<Kept> {
	if (raw.dialect !== SQL_DIALECT) throw new QueryFailure({ Unsupported: `dialect ${raw.dialect}` });
	const statement = await oneSelect(db, raw.sql);
	bindAll(statement, raw.params);
	running();
	const result = await statement.stream();
	const types = result.columnTypes();
	const fields = resultFields(result.columnNames(), types);
	const kept: Row[] = [];
	let bytes = 0;
	let total = 0n;
	let truncated = false;
	for (;;) {
		const chunk = await result.fetchChunk();
		if (chunk === null || chunk.rowCount === 0) break;
		total += BigInt(chunk.rowCount);
		if (truncated && !wantTotal) break;
		if (truncated) continue;
		for (const cells of chunk.getRows()) {
			const row = {
				values: fields.map((field, i) => {
					const value = adapt(cells[i]!, types[i]!, field.field_type);
					return fromDuck(value, field.field_type);
				}),
			};
			for (const value of row.values) bytes += sizeOf(value);
			// The first row is kept whatever it takes: too large a reply is refused as a whole, later.
			if (kept.length > 0 && (kept.length >= MAX_KEPT_ROWS || bytes > MAX_KEPT_BYTES)) {
				truncated = true;
				break;
			}
			kept.push(row);
		}
	}
	return { kind: 'kept', fields, rows: kept, at: 0, total, truncated };
}

export function readKept(start: Kept, limit: number): Omit<Answer, 'scannedRows'> {
	const at = start.at + limit;
	const more = at < start.rows.length;
	return {
		fields: start.fields,
		rows: start.rows.slice(start.at, at),
		total: start.total,
		next: more ? { ...start, at } : undefined,
		truncated: start.truncated && !more,
	};
}
