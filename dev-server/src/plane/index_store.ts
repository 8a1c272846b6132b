/** Indexes and their tables: created, widened and described here; rows are written by the projector. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlType } from './column_type.js';
import { DECLARED } from './column_value.js';
import type { Projection } from './control_model.js';
import { type Database, rows } from './database.js';
import {
	type Column,
	type ColumnType,
	columnName,
	columnSql,
	type IndexTable,
	logicalOf,
	projectedType,
	tableName,
} from './index_model.js';
import { decodeCbor, encodeCbor } from './wire/cbor.js';
import type { LogicalField, LogicalType } from './wire/logical_type.js';

export class IndexStore {
	readonly #indexes = new Map<string, IndexTable>();
	#nextNumber = 1;

	private constructor(private readonly database: Database) {}

	static async open(database: Database): Promise<IndexStore> {
		const store = new IndexStore(database);
		await database.transaction(async (db) => {
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_index
				 (number INTEGER PRIMARY KEY, name VARCHAR UNIQUE, created BOOLEAN, notify BOOLEAN)`,
			);
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_column (index_number INTEGER, id INTEGER, name VARCHAR, type VARCHAR,
				 position INTEGER, declared BOOLEAN, required BOOLEAN, doc VARCHAR, PRIMARY KEY (index_number, id))`,
			);
			const indexes = await rows(db, 'SELECT number, name, created, notify FROM plane_index ORDER BY number');
			for (const [number, name, created, notify] of indexes) {
				const index = emptyIndex(name as string, number as number, created as boolean, notify as boolean);
				store.#indexes.set(index.name, index);
				store.#nextNumber = index.number + 1;
				const columns = await rows(
					db,
					`SELECT id, name, type, declared, required, doc FROM plane_column
					 WHERE index_number = $1 ORDER BY position`,
					[index.number],
				);
				for (const [id, column, type, declared, required, doc] of columns) {
					addColumn(index, {
						id: id as number,
						name: column as string,
						type: storedType(type as string | null),
						declared: declared as boolean,
						required: required as boolean,
						doc: (doc as string | null) ?? undefined,
					});
				}
				const [last] = await rows(db, `SELECT max(_seq) FROM ${tableName(index)}`);
				index.nextSequence = ((last?.[0] as bigint | null) ?? 0n) + 1n;
			}
		});
		return store;
	}

	get(name: string): IndexTable | undefined {
		return this.#indexes.get(name);
	}

	names(): string[] {
		return [...this.#indexes.keys()];
	}

	/** The index of this name, made when there is none, for a projection to write to. */
	async ensure(name: string): Promise<IndexTable> {
		return (
			this.#indexes.get(name) ?? (await this.#make(emptyIndex(name, this.#nextNumber, false, false), []))
		);
	}

	/** A new index of a given schema. */
	async create(name: string, fields: readonly LogicalField[], notify: boolean): Promise<IndexTable> {
		if (this.#indexes.has(name)) throw new Error(`there is an index ${JSON.stringify(name)} already`);
		const columns = fields.map(
			(field): Column => ({
				id: Number(field.id),
				name: field.name,
				declared: true,
				required: field.required,
				type: field.field_type,
				doc: field.doc,
			}),
		);
		return this.#make(emptyIndex(name, this.#nextNumber, true, notify), columns);
	}

	async #make(index: IndexTable, columns: Column[]): Promise<IndexTable> {
		this.#nextNumber += 1;
		await this.database.transaction(async (db) => {
			await db.run('INSERT INTO plane_index VALUES ($1, $2, $3, $4)', [
				index.number,
				index.name,
				index.created,
				index.notify,
			]);
			await db.run(
				`CREATE TABLE ${tableName(index)} (
					_seq BIGINT, _source INTEGER, _partition UINTEGER, _offset UBIGINT, _ts BIGINT,
					_projection VARCHAR, _projection_version UINTEGER, _content_type UTINYINT, _payload BLOB
					${columns.map((column) => `, ${columnSql(column)}`).join('')})`,
			);
			await this.#describe(db, index, columns, 0);
		});
		for (const column of columns) addColumn(index, column);
		this.#indexes.set(index.name, index);
		return index;
	}

	/** Gives the index the columns that a projection extracts to. */
	async ensureFields(index: IndexTable, projection: Projection): Promise<void> {
		const missing = projection.extraction.fields.filter((field) => !index.byName.has(field.name));
		const types = new Map<string, ColumnType | undefined>();
		for (const field of missing) {
			if (!types.has(field.name)) {
				types.set(field.name, field.field_type === undefined ? undefined : DECLARED[field.field_type]);
			}
		}
		await this.#add(
			index,
			[...types].map(([name, type]) => ({ name, type: type ?? 'unknown', declared: type !== undefined })),
		);
	}

	/** Columns for names that only headers brought. */
	async ensureNames(index: IndexTable, names: Iterable<string>): Promise<void> {
		const missing = [...new Set(names)].filter((name) => !index.byName.has(name));
		await this.#add(
			index,
			missing.map((name) => ({ name, type: 'unknown' as const, declared: false })),
		);
	}

	async #add(
		index: IndexTable,
		wanted: { name: string; type: ColumnType; declared: boolean }[],
	): Promise<void> {
		if (wanted.length === 0) return;
		const first = index.columns.length + 1;
		const columns = wanted.map(
			({ name, type, declared }, i): Column => ({
				id: first + i,
				name,
				declared,
				required: false,
				type: logicalOf(type),
			}),
		);
		await this.database.transaction(async (db) => {
			for (const column of columns) {
				await db.run(`ALTER TABLE ${tableName(index)} ADD COLUMN ${columnSql(column)}`);
			}
			await this.#describe(db, index, columns, index.columns.length);
		});
		for (const column of columns) addColumn(index, column);
	}

	async #describe(
		db: DuckDBConnection,
		index: IndexTable,
		columns: readonly Column[],
		position: number,
	): Promise<void> {
		if (columns.length === 0) return;
		const appender = await db.createAppender('plane_column');
		try {
			for (const [i, column] of columns.entries()) {
				appender.appendInteger(index.number);
				appender.appendInteger(column.id);
				appender.appendVarchar(column.name);
				if (column.type === undefined) appender.appendNull();
				else appender.appendVarchar(typeText(column.type));
				appender.appendInteger(position + i);
				appender.appendBoolean(column.declared);
				appender.appendBoolean(column.required);
				if (column.doc === undefined) appender.appendNull();
				else appender.appendVarchar(column.doc);
				appender.endRow();
			}
			appender.flushSync();
		} finally {
			appender.closeSync();
		}
	}

	/** Changes the types of untyped columns; a long column with values that a double cannot hold becomes text instead. */
	async widen(index: IndexTable, changes: Map<Column, ColumnType>): Promise<void> {
		for (const [column, wanted] of changes) {
			let type = wanted;
			await this.database.transaction(async (db) => {
				const name = columnName(column);
				if (projectedType(column) === 'long' && wanted === 'double') {
					const inexact = await rows(
						db,
						`SELECT 1 FROM ${tableName(index)} WHERE ${name} IS NOT NULL
						 AND CAST(CAST(${name} AS DOUBLE) AS HUGEINT) <> CAST(${name} AS HUGEINT) LIMIT 1`,
					);
					if (inexact.length > 0) type = 'string';
				}
				const sql = sqlType(logicalOf(type) ?? { kind: 'string' });
				if (columnSql(column) !== `${name} ${sql}`) {
					await db.run(`ALTER TABLE ${tableName(index)} ALTER COLUMN ${name} SET DATA TYPE ${sql}`);
				}
				await db.run('UPDATE plane_column SET type = $3 WHERE index_number = $1 AND id = $2', [
					index.number,
					column.id,
					typeText(logicalOf(type)!),
				]);
			});
			column.type = logicalOf(type);
		}
	}
}

/** Types are stored as the hex of their wire form. */
function typeText(type: LogicalType): string {
	return Buffer.from(encodeCbor(type)).toString('hex');
}

function storedType(text: string | null): LogicalType | undefined {
	return text === null ? undefined : (decodeCbor(Buffer.from(text, 'hex')) as LogicalType);
}

function emptyIndex(name: string, number: number, created: boolean, notify: boolean): IndexTable {
	return { name, number, created, notify, columns: [], byName: new Map(), nextSequence: 1n };
}

function addColumn(index: IndexTable, column: Column): void {
	index.columns.push(column);
	index.byName.set(column.name, column);
}
