/** What a query found, before it is dressed as a reply; and reading rows of the database into it. */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { fromDuck, sizeOf } from './column_type.js';
import type { LastRow } from './query_keyset.js';
import type { Bindings } from './query_predicate.js';
import { QueryFailure, type Row } from './query_reply.js';
import type { Plan, RowStart } from './row_plan.js';
import type { LogicalField } from './wire/logical_type.js';

export interface Hit {
	sequence: bigint;
	score: number;
}

/** Where a page begins. */
export type PageStart =
	| ({ kind: 'rows' } & RowStart)
	/** Hits of a search in their order, kept from the first page on: later rows would shift every score. */
	| { kind: 'ranked'; hits: Hit[]; at: number; total: bigint; truncated: boolean }
	/** Rows of a statement whose order nothing else could repeat. */
	| { kind: 'kept'; fields: LogicalField[]; rows: Row[]; at: number; total: bigint; truncated: boolean };

export interface Answer {
	fields: LogicalField[];
	rows: Row[];
	total: bigint | undefined;
	/** Undefined for a last page. */
	next: PageStart | undefined;
	truncated: boolean;
	/** Rows of the target, of which some were looked at. */
	scannedRows: bigint;
}

/** Counts what a reply will take, and stops before it is too large to send. */
export class ReplyBudget {
	used = 0;

	constructor(readonly cap: number) {}

	take(row: Row): Row {
		for (const value of row.values) this.used += sizeOf(value);
		if (this.used > this.cap) throw this.exceeded(this.used);
		return row;
	}

	exceeded(size: number): QueryFailure {
		return new QueryFailure({ TooLarge: { what: 'query reply', size: BigInt(size), cap: BigInt(this.cap) } });
	}
}

export async function all(db: DuckDBConnection, sql: string, params?: Bindings): Promise<DuckDBValue[][]> {
	const reader =
		params === undefined
			? await db.runAndReadAll(sql)
			: await db.runAndReadAll(sql, params.values, params.types);
	return reader.getRows();
}

/** Rows as they come, so that a result too large is left before it is read. */
export async function each(
	db: DuckDBConnection,
	sql: string,
	params: Bindings,
	take: (cells: DuckDBValue[]) => void,
): Promise<void> {
	const result = await db.stream(sql, params.values, params.types);
	for (;;) {
		const chunk = await result.fetchChunk();
		if (chunk === null || chunk.rowCount === 0) return;
		for (const cells of chunk.getRows()) take(cells);
	}
}

export function typedRow(cells: readonly DuckDBValue[], fields: readonly LogicalField[]): Row {
	return { values: fields.map((field, i) => fromDuck(cells[i], field.field_type)) };
}

/** One page of a plan. */
export async function readPlan(
	db: DuckDBConnection,
	plan: Plan,
	limit: number,
	highest: bigint,
	budget: ReplyBudget,
): Promise<{ rows: Row[]; more: boolean; next: PageStart | undefined }> {
	const fields = plan.columns.map((column) => column.field);
	const rows: Row[] = [];
	let more = false;
	let last: DuckDBValue[] = [];
	await each(db, plan.sql, plan.params, (cells) => {
		if (rows.length === limit) more = true;
		else {
			rows.push(budget.take(typedRow(cells, fields)));
			last = cells;
		}
	});
	if (!more || plan.next === undefined) return { rows, more, next: undefined };
	const after: LastRow = {
		keys: plan.next.keys.map((at) => last[at]!),
		sequence: plan.next.sequence === undefined ? undefined : (last[plan.next.sequence] as bigint),
	};
	return { rows, more, next: { kind: 'rows', highest, skip: 0n, after } };
}
