/** Indexes and their tables: created, widened and described here; rows are written by the projector. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { DECLARED } from './column_value.js';
import type { Projection } from './control_model.js';
import { type Database, rows } from './database.js';
import {
	type Column,
	type ColumnType,
	columnName,
	type IndexTable,
	SQL_TYPES,
	tableName,
} from './index_model.js';

export class IndexStore {
	readonly #indexes = new Map<string, IndexTable>();
	#nextNumber = 1;

	private constructor(private readonly database: Database) {}

	static async open(database: Database): Promise<IndexStore> {
		const store = new IndexStore(database);
		await database.transaction(async (db) => {
			await db.run(
				'CREATE TABLE IF NOT EXISTS plane_index (number INTEGER PRIMARY KEY, name VARCHAR UNIQUE)',
			);
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_column
				 (index_number INTEGER, id INTEGER, name VARCHAR, type VARCHAR, declared BOOLEAN, PRIMARY KEY (index_number, id))`,
			);
			for (const [number, name] of await rows(db, 'SELECT number, name FROM plane_index ORDER BY number')) {
				const index = emptyIndex(name as string, number as number);
				store.#indexes.set(index.name, index);
				store.#nextNumber = index.number + 1;
				const columns = await rows(
					db,
					'SELECT id, name, type, declared FROM plane_column WHERE index_number = $1 ORDER BY id',
					[index.number],
				);
				for (const [id, column, type, declared] of columns) {
					addColumn(index, {
						id: id as number,
						name: column as string,
						type: type as ColumnType,
						declared: declared as boolean,
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

	async ensure(name: string): Promise<IndexTable> {
		const known = this.#indexes.get(name);
		if (known !== undefined) return known;
		const index = emptyIndex(name, this.#nextNumber);
		await this.database.transaction(async (db) => {
			await db.run('INSERT INTO plane_index VALUES ($1, $2)', [index.number, name]);
			await db.run(
				`CREATE TABLE ${tableName(index)} (
					_seq BIGINT, _source INTEGER, _partition UINTEGER, _offset UBIGINT, _ts BIGINT,
					_projection VARCHAR, _projection_version UINTEGER, _content_type UTINYINT, _payload BLOB)`,
			);
		});
		this.#nextNumber += 1;
		this.#indexes.set(name, index);
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
		const columns = wanted.map((column, i): Column => ({ id: first + i, ...column }));
		await this.database.transaction(async (db) => {
			for (const column of columns) {
				await db.run(
					`ALTER TABLE ${tableName(index)} ADD COLUMN ${columnName(column)} ${SQL_TYPES[column.type]}`,
				);
				await this.#describe(db, index, column);
			}
		});
		for (const column of columns) addColumn(index, column);
	}

	async #describe(db: DuckDBConnection, index: IndexTable, column: Column): Promise<void> {
		await db.run('INSERT OR REPLACE INTO plane_column VALUES ($1, $2, $3, $4, $5)', [
			index.number,
			column.id,
			column.name,
			column.type,
			column.declared,
		]);
	}

	/** Changes the types of untyped columns; a long column with values that a double cannot hold becomes text instead. */
	async widen(index: IndexTable, changes: Map<Column, ColumnType>): Promise<void> {
		for (const [column, wanted] of changes) {
			let type = wanted;
			await this.database.transaction(async (db) => {
				const name = columnName(column);
				if (column.type === 'long' && wanted === 'double') {
					const inexact = await rows(
						db,
						`SELECT 1 FROM ${tableName(index)} WHERE ${name} IS NOT NULL
						 AND CAST(CAST(${name} AS DOUBLE) AS HUGEINT) <> CAST(${name} AS HUGEINT) LIMIT 1`,
					);
					if (inexact.length > 0) type = 'string';
				}
				if (SQL_TYPES[type] !== SQL_TYPES[column.type]) {
					await db.run(
						`ALTER TABLE ${tableName(index)} ALTER COLUMN ${name} SET DATA TYPE ${SQL_TYPES[type]}`,
					);
				}
				await this.#describe(db, index, { ...column, type });
			});
			column.type = type;
		}
	}
}

function emptyIndex(name: string, number: number): IndexTable {
	return { name, number, columns: [], byName: new Map(), nextSequence: 1n };
}

function addColumn(index: IndexTable, column: Column): void {
	index.columns.push(column);
	index.byName.set(column.name, column);
}
