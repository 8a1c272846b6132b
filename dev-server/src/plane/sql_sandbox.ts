/**
 * Where a client's own statements run: a database of its own per target, with the target's rows in it and nothing else,
 * no file or network, and a configuration that no statement can change.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { sqlType } from './column_type.js';
import { rows } from './database.js';
import { columnName, columnSql, typeOf } from './index_model.js';
import type { Relation } from './relation.js';

const MAX_SANDBOXES = 8;
const PROVENANCE_COLUMNS = ['__laser_partition_id', '__laser_offset'];

function quoted(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/** Columns as statements name them. The database ignores case: a name that is taken that way goes by its number. */
function publicColumns(relation: Relation): { name: string; sql: string; type: string }[] {
	const taken = new Set<string>(['_seq']);
	const columns = relation.columns.map((column) => {
		let name = column.name;
		if (taken.has(name.toLowerCase())) name = columnName(column);
		taken.add(name.toLowerCase());
		return { name, sql: columnName(column), type: sqlType(typeOf(column)) };
	});
	for (const name of PROVENANCE_COLUMNS) {
		const source = relation.provenance[name];
		if (source !== undefined && !taken.has(name))
			columns.push({ name, sql: source.sql, type: sqlType(source.type) });
	}
	return columns;
}

function signatureOf(relation: Relation): string {
	return JSON.stringify(relation.columns.map((column) => [column.name, columnSql(column)]));
}

class Sandbox {
	/** Sequence and number of the rows that are in it. */
	last = 0n;
	count = 0n;
	users = 0;
	retired = false;

	private constructor(
		readonly instance: DuckDBInstance,
		private readonly writer: DuckDBConnection,
		readonly signature: string,
		private readonly list: string,
	) {}

	static async open(relation: Relation, names: readonly string[]): Promise<Sandbox> {
		const instance = await DuckDBInstance.create(':memory:', {
			autoinstall_known_extensions: 'false',
			autoload_known_extensions: 'false',
			enable_external_access: 'false',
			memory_limit: '512MB',
			threads: '2',
		});
		const writer = await instance.connect();
		const columns = publicColumns(relation);
		await writer.run('CREATE SCHEMA store');
		await writer.run(
			`CREATE TABLE store.held (_seq BIGINT, ${columns.map((c) => `${quoted(c.name)} ${c.type}`).join(', ')})`,
		);
		for (const name of names)
			await writer.run(`CREATE VIEW ${quoted(name)} AS SELECT * EXCLUDE (_seq) FROM store.held`);
		await writer.run('SET lock_configuration = true');
		return new Sandbox(
			instance,
			writer,
			signatureOf(relation),
			columns.map((column) => column.sql).join(', '),
		);
	}

	/** Takes over the rows above the last sequence. */
	async fill(source: DuckDBConnection, relation: Relation, highest: bigint): Promise<void> {
		const result = await source.stream(
			`SELECT _seq, ${this.list} FROM ${relation.sql} WHERE _seq > $1 AND _seq <= $2 ORDER BY _seq`,
			[this.last, highest],
		);
		const appender = await this.writer.createAppender('held', 'store');
		try {
			for (;;) {
				const chunk = await result.fetchChunk();
				if (chunk === null || chunk.rowCount === 0) break;
				appender.appendDataChunk(chunk);
				this.count += BigInt(chunk.rowCount);
			}
			appender.flushSync();
		} finally {
			appender.closeSync();
		}
		if (highest > this.last) this.last = highest;
	}

	release(): void {
		this.users -= 1;
		this.closeIfDone();
	}

	retire(): void {
		this.retired = true;
		this.closeIfDone();
	}

	private closeIfDone(): void {
		if (!this.retired || this.users > 0) return;
		this.writer.closeSync();
		this.instance.closeSync();
	}
}

export class Sandboxes {
	readonly #byTarget = new Map<string, Sandbox>();
	#tail: Promise<unknown> = Promise.resolve();

	/** Runs `work` on a connection to the target's sandbox, which holds the rows that `source` sees now. */
	async use<T>(
		target: { key: string; names: readonly string[]; relation: Relation },
		source: DuckDBConnection,
		work: (db: DuckDBConnection) => Promise<T>,
	): Promise<T> {
		const sync = this.#tail.then(() => this.sync(target, source));
		this.#tail = sync.catch(() => undefined);
		const sandbox = await sync;
		try {
			const db = await sandbox.instance.connect();
			try {
				await db.run('BEGIN TRANSACTION READ ONLY');
				return await work(db);
			} finally {
				db.closeSync();
			}
		} finally {
			sandbox.release();
		}
	}

	private async sync(
		{ key, names, relation }: { key: string; names: readonly string[]; relation: Relation },
		source: DuckDBConnection,
	): Promise<Sandbox> {
		let sandbox = this.#byTarget.get(key);
		const [bounds] = await rows(
			source,
			`SELECT coalesce(max(_seq), 0), count(*) FILTER (_seq <= $1) FROM ${relation.sql}`,
			[sandbox?.last ?? 0n],
		);
		const [highest, held] = bounds as [bigint, bigint];
		// Rows only come at the end or go; where as many are left as are held, they are the same.
		if (sandbox !== undefined && (sandbox.signature !== signatureOf(relation) || sandbox.count !== held)) {
			this.#byTarget.delete(key);
			sandbox.retire();
			sandbox = undefined;
		}
		if (sandbox === undefined) sandbox = await Sandbox.open(relation, names);
		// In the order of use, so that the oldest is the first.
		this.#byTarget.delete(key);
		sandbox.users += 1;
		try {
			if (highest > sandbox.last) await sandbox.fill(source, relation, highest);
		} catch (error) {
			sandbox.users -= 1;
			sandbox.retire();
			throw error;
		}
		this.#byTarget.set(key, sandbox);
		if (this.#byTarget.size > MAX_SANDBOXES) {
			const [oldest, unused] = this.#byTarget.entries().next().value!;
			this.#byTarget.delete(oldest);
			unused.retire();
		}
		return sandbox;
	}

	async close(): Promise<void> {
		await this.#tail;
		for (const sandbox of this.#byTarget.values()) sandbox.retire();
		this.#byTarget.clear();
	}
}
