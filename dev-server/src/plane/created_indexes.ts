/** Indexes made from a schema by the server's own API, and rows appended to them. */
import type { AppendedRows, CreateIndexOptions, FieldInput, RowInput } from '../contract.js';
import { ROW_COLUMNS, writeChunks } from './chunk_writer.js';
import { duckType, toDuck } from './column_type.js';
import type { Database } from './database.js';
import { CREATED_STREAM, type Feed } from './feed.js';
import { type IndexTable, tableName, typeOf } from './index_model.js';
import type { IndexStore } from './index_store.js';
import { logicalFields } from './input_schema.js';
import { typedRow } from './input_value.js';
import type { Outbox } from './outbox.js';
import type { Projector } from './projector.js';
import type { LogicalField } from './wire/logical_type.js';
import { trimmedName } from './wire/names.js';

export class CreatedIndexes {
	constructor(
		private readonly database: Database,
		private readonly indexes: IndexStore,
		private readonly feed: Feed,
		private readonly outbox: Outbox,
		private readonly projector: Projector,
	) {}

	async create(
		name: string,
		schema: readonly FieldInput[],
		rows: Iterable<RowInput>,
		options: CreateIndexOptions,
	): Promise<void> {
		trimmedName(name, 'query_name', 'index');
		const index = await this.indexes.create(name, logicalFields(schema), options.notify === true);
		if (index.notify) await this.feed.prepare(name);
		const first = [...rows];
		if (first.length > 0) await this.append(name, first);
	}

	async append(name: string, rows: Iterable<RowInput>): Promise<AppendedRows> {
		const index = this.indexes.get(name);
		if (index === undefined || !index.created) throw new Error(`no created index ${JSON.stringify(name)}`);
		const fields = fieldsOf(index);
		const types = fields.map((field) => duckType(field.field_type));
		// Checked and converted whole before anything is written.
		const batch = [...rows].map((row, i) =>
			typedRow(row, fields, `rows[${i}]`).map((value, at) => toDuck(value, fields[at]!.field_type)),
		);
		if (batch.length === 0) throw new Error('no rows to append');
		const now = BigInt(Date.now()) * 1000n;
		const { owed, appended } = await this.database.transaction(async (db) => {
			const first = index.nextSequence;
			await writeChunks(db, tableName(index), [...ROW_COLUMNS, ...types], batch.length, (at) => {
				const sequence = first + BigInt(at);
				// No projection, content type or payload.
				return [sequence, 0, 0, sequence - 1n, now, null, null, null, null, ...batch[at]!];
			});
			const range = {
				fromOffset: first - 1n,
				toOffset: first - 2n + BigInt(batch.length),
				rows: batch.length,
			};
			const change = { index: name, partitionId: 0, ...range, sourceStream: CREATED_STREAM };
			// Nothing else writes now, so the sequence is taken with the transaction.
			const promised = await this.outbox.promise(db, index.notify ? change : undefined);
			return { owed: promised, appended: range };
		});
		index.nextSequence += BigInt(batch.length);
		this.outbox.committed(owed);
		if (owed !== undefined) {
			this.projector.wake();
			await this.projector.settle();
		}
		return appended;
	}
}

function fieldsOf(index: IndexTable): LogicalField[] {
	return index.columns.map((column) => ({
		id: BigInt(column.id),
		name: column.name,
		required: column.required,
		field_type: typeOf(column),
		doc: column.doc,
	}));
}
