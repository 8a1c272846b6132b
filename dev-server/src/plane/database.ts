/**
 * The plane's database: one writer connection behind a queue, a few readers. A value never becomes SQL text; names in
 * SQL are the plane's own.
 */
import { join } from 'node:path';
import {
	type DuckDBConnection,
	DuckDBInstance,
	type DuckDBPreparedStatement,
	type DuckDBType,
	type DuckDBValue,
} from '@duckdb/node-api';

export type Params = DuckDBValue[];

const MAX_IDLE_READERS = 4;

const CLOSED = {
	autoinstall_known_extensions: 'false',
	autoload_known_extensions: 'false',
	threads: '2',
};

/** For file names and settings, which statements take as text only. */
export function textLiteral(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}

export class Database {
	#tail: Promise<unknown> = Promise.resolve();
	readonly #idle: DuckDBConnection[] = [];
	#closed = false;

	private constructor(
		private readonly instance: DuckDBInstance,
		private readonly writer: DuckDBConnection,
	) {}

	static async open(dataDir: string | undefined): Promise<Database> {
		const path = dataDir === undefined ? ':memory:' : join(dataDir, 'plane.duckdb');
		const instance = await DuckDBInstance.create(path, { ...CLOSED, enable_external_access: 'false' });
		return new Database(instance, await instance.connect());
	}

	/** A database in memory that reads and writes the files of one folder and no others. */
	static async overFolder(folder: string): Promise<Database> {
		const instance = await DuckDBInstance.create(':memory:', CLOSED);
		const writer = await instance.connect();
		await writer.run(`SET allowed_directories = [${textLiteral(`${folder}/`)}]`);
		await writer.run('SET enable_external_access = false');
		await writer.run('SET lock_configuration = true');
		return new Database(instance, writer);
	}

	/** Runs `work` alone on the writer, in one transaction: all of it is stored or nothing. */
	transaction<T>(work: (writer: DuckDBConnection) => Promise<T>): Promise<T> {
		const run = this.#tail.then(async () => {
			if (this.#closed) throw new Error('the database is closed');
			await execute(this.writer, 'BEGIN TRANSACTION');
			try {
				const result = await work(this.writer);
				await execute(this.writer, 'COMMIT');
				return result;
			} catch (error) {
				await this.writer.run('ROLLBACK').catch(() => undefined);
				throw error;
			}
		});
		this.#tail = run.catch(() => undefined);
		return run;
	}

	/** Runs `work` on a reader of its own, inside one snapshot. */
	async read<T>(work: (reader: DuckDBConnection) => Promise<T>): Promise<T> {
		const reader = this.#idle.pop() ?? (await this.instance.connect());
		let healthy = false;
		try {
			await reader.run('BEGIN TRANSACTION READ ONLY');
			const result = await work(reader);
			await reader.run('COMMIT');
			healthy = true;
			return result;
		} finally {
			if (healthy && !this.#closed && this.#idle.length < MAX_IDLE_READERS) this.#idle.push(reader);
			else reader.closeSync();
		}
	}

	async close(): Promise<void> {
		await this.#tail;
		this.#closed = true;
		for (const reader of this.#idle.splice(0)) reader.closeSync();
		this.writer.closeSync();
		this.instance.closeSync();
	}
}

export async function rows(
	connection: DuckDBConnection,
	sql: string,
	params: Params = [],
	types?: (DuckDBType | undefined)[],
): Promise<DuckDBValue[][]> {
	const reader =
		types === undefined
			? await connection.runAndReadAll(sql, params)
			: await connection.runAndReadAll(
					sql,
					params,
					Object.fromEntries(types.map((t, i) => [String(i + 1), t])) as never,
				);
	return reader.getRows();
}

const statements = new WeakMap<DuckDBConnection, Map<string, DuckDBPreparedStatement>>();

/** For statements of every batch: parsed and planned once for the connection. Answers how many rows they changed. */
export async function execute(db: DuckDBConnection, sql: string, params: Params = []): Promise<number> {
	let known = statements.get(db);
	if (known === undefined) {
		known = new Map();
		statements.set(db, known);
	}
	let statement = known.get(sql);
	if (statement === undefined) {
		statement = await db.prepare(sql);
		known.set(sql, statement);
	}
	statement.bind(params);
	return (await statement.run()).rowsChanged;
}
