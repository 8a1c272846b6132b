/** Writes extracted rows into an index: columns first (their types may widen), then the rows in one appender. */
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api';
import { type Cell, fromHeader, toCell, widen } from './column_value.js';
import type { ExtractedRow } from './extraction.js';
import type { Column, ColumnType, IndexTable } from './index_model.js';
import { projectedType, tableName } from './index_model.js';
import type { IndexStore } from './index_store.js';
import type { JsonValue } from './json_value.js';

function fieldValue(row: ExtractedRow, column: Column): JsonValue | undefined {
	const explicit = row.explicit?.get(column.name);
	return explicit === undefined ? row.values.get(column.name) : fromHeader(explicit, projectedType(column));
}

/** Must run before the transaction that appends: it changes the table. */
export async function fitColumns(store: IndexStore, index: IndexTable, batch: ExtractedRow[]): Promise<void> {
	const explicit = new Set<string>();
	for (const projection of new Set(batch.map((row) => row.projection)))
		await store.ensureFields(index, projection);
	for (const row of batch) for (const name of row.explicit?.keys() ?? []) explicit.add(name);
	await store.ensureNames(index, explicit);
	for (;;) {
		const changes = new Map<Column, ColumnType>();
		for (const column of index.columns) {
			if (column.declared) continue;
			let type = projectedType(column);
			for (const row of batch) {
				const value = fieldValue(row, column);
				if (value !== undefined) type = widen(type, value);
			}
			// Longs of the batch itself must stay exact too before a long column becomes double.
			if (type === 'double') for (const row of batch) type = widen(type, fieldValue(row, column) ?? null);
			if (type !== projectedType(column)) changes.set(column, type);
		}
		if (changes.size === 0) return;
		await store.widen(index, changes);
	}
}

export function appendRow(
	appender: DuckDBAppender,
	index: IndexTable,
	source: number,
	partitionId: number,
	sequence: bigint,
	row: ExtractedRow,
): void {
	appender.appendBigInt(sequence);
	appender.appendInteger(source);
	appender.appendUInteger(partitionId);
	appender.appendUBigInt(row.record.offset);
	appender.appendBigInt(row.record.timestampMicros);
	appender.appendVarchar(row.projection.id);
	appender.appendUInteger(Number(row.projection.version));
	if (row.contentType === undefined) appender.appendNull();
	else appender.appendUTinyInt(row.contentType);
	if (row.inline) appender.appendBlob(row.record.payload);
	else appender.appendNull();
	for (const column of index.columns)
		appendCell(appender, toCell(fieldValue(row, column), projectedType(column)));
	appender.endRow();
}

function appendCell(appender: DuckDBAppender, cell: Cell): void {
	if (cell === null) appender.appendNull();
	else if (typeof cell === 'bigint') appender.appendBigInt(cell);
	else if (typeof cell === 'number') appender.appendDouble(cell);
	else if (typeof cell === 'boolean') appender.appendBoolean(cell);
	else appender.appendVarchar(cell);
}

/** In the caller's transaction. */
export async function appendRows(
	db: DuckDBConnection,
	index: IndexTable,
	source: number,
	partitionId: number,
	batch: ExtractedRow[],
): Promise<void> {
	if (batch.length === 0) return;
	const appender = await db.createAppender(tableName(index));
	try {
		let sequence = index.nextSequence;
		for (const row of batch) {
			appendRow(appender, index, source, partitionId, sequence, row);
			sequence += 1n;
		}
		appender.flushSync();
	} finally {
		appender.closeSync();
	}
}
