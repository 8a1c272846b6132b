/**
 * Destinations: tables of Parquet files with their snapshots. A snapshot's file is written first and named in the
 * catalog after it, so a crash leaves at most a file that nothing names.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BIGINT, blobValue } from '@duckdb/node-api';
import type { DestinationInput, FieldInput, RowInput, SnapshotInfo } from '../contract.js';
import { blob } from './catalog.js';
import { writeChunks } from './chunk_writer.js';
import { duckType, sqlType, toDuck } from './column_type.js';
import { Database, rows as select, textLiteral } from './database.js';
import type { Backend } from './hello.js';
import { logicalFields } from './input_schema.js';
import { typedRow } from './input_value.js';
import { decodeCbor, encodeCbor } from './wire/cbor.js';
import { type LogicalField, schemaFingerprint } from './wire/logical_type.js';
import { plainName } from './wire/names.js';

export interface Snapshot {
	snapshot_id: bigint;
	timestamp_micros: bigint;
	checkpoint_revision: bigint;
	rows: bigint;
	files: string[];
	digest: Uint8Array;
	/** False once it has expired: it is known to have been, and can be read no more. */
	retained: boolean;
}

/** One generation, in wire order where it goes on the wire. */
export interface DestinationRecord {
	definition: {
		id: Uint8Array;
		generation: bigint;
		definition_revision: bigint;
		name: string;
		source: { stream: string; topic: string };
		recreated_partition_policy: 'reject';
		projection: { id: string; version: bigint };
		schema: { id: Uint8Array; version: bigint; fingerprint: Uint8Array };
		backend: { resource_id: Uint8Array; generation: bigint };
		table: { namespace: string[]; table: string; expected_table_uuid: Uint8Array | undefined };
		file_format: 'parquet';
		table_format: 'iceberg_v2';
		start_policy: { kind: 'beginning' };
		new_partition_policy: 'beginning';
		error_policy: 'block';
		desired_state: 'enabled';
	};
	fields: LogicalField[];
	table_uuid: Uint8Array;
	checkpoint_revision: bigint;
	global_state_revision: bigint;
	next_sequence: bigint;
	snapshots: Snapshot[];
}

function fresh(): Uint8Array {
	return new Uint8Array(randomBytes(16));
}

function hex(bytes: Uint8Array): string {
	return Buffer.from(bytes).toString('hex');
}

export class Destinations {
	readonly #byId = new Map<string, DestinationRecord>();
	#revision = 1n;
	/** Changes of one after another: each builds on the snapshot before it. */
	#tail: Promise<unknown> = Promise.resolve();

	private constructor(
		private readonly catalog: Database,
		readonly lake: Database,
		private readonly folder: string,
		private readonly temporary: boolean,
		readonly backend: Backend,
	) {}

	static async open(catalog: Database, dataDir: string | undefined, backend: Backend): Promise<Destinations> {
		const temporary = dataDir === undefined;
		const folder = temporary
			? await mkdtemp(join(tmpdir(), 'tidemark-lakehouse-'))
			: join(dataDir, 'lakehouse');
		await mkdir(folder, { recursive: true });
		const store = new Destinations(catalog, await Database.overFolder(folder), folder, temporary, backend);
		await catalog.transaction(async (db) => {
			await db.run('CREATE TABLE IF NOT EXISTS plane_destination (id VARCHAR PRIMARY KEY, body BLOB)');
			for (const [body] of await select(db, 'SELECT body FROM plane_destination')) {
				const record = decodeCbor(blob(body)) as DestinationRecord;
				store.#byId.set(hex(record.definition.id), record);
				if (record.global_state_revision > store.#revision) store.#revision = record.global_state_revision;
			}
		});
		return store;
	}

	/** Grows with every change of any destination. */
	get globalRevision(): bigint {
		return this.#revision;
	}

	get(id: Uint8Array): DestinationRecord | undefined {
		return this.#byId.get(hex(id));
	}

	/** By identity, ascending. */
	list(): DestinationRecord[] {
		return [...this.#byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
	}

	pathOf(file: string): string {
		return join(this.folder, file);
	}

	async create(input: DestinationInput): Promise<DestinationRecord> {
		plainName(input.name, 'destination_name', 'name');
		const table = input.table ?? { namespace: ['tidemark'], table: input.name };
		for (const part of [...table.namespace, table.table]) plainName(part, 'destination_table', 'table');
		const record = this.record(logicalFields(input.schema), {
			id: fresh(),
			generation: 1n,
			name: input.name,
			source: input.source ?? { stream: 'created', topic: input.name },
			table: { namespace: [...table.namespace], table: table.table, expected_table_uuid: undefined },
		});
		await this.change(() => this.store(record));
		if (input.rows !== undefined) await this.write(record.definition.id, 1n, input.rows, false);
		return this.get(record.definition.id)!;
	}

	private record(
		fields: LogicalField[],
		given: Pick<DestinationRecord['definition'], 'id' | 'generation' | 'name' | 'source' | 'table'>,
	): DestinationRecord {
		const schemaId = fresh();
		const { id, generation, name, source, table } = given;
		return {
			definition: {
				id,
				generation,
				definition_revision: 1n,
				name,
				source,
				recreated_partition_policy: 'reject',
				projection: { id: 'created', version: 1n },
				schema: { id: schemaId, version: 1n, fingerprint: schemaFingerprint(schemaId, 1n, fields) },
				backend: { resource_id: this.backend.resourceId, generation: this.backend.generation },
				table,
				file_format: 'parquet',
				table_format: 'iceberg_v2',
				start_policy: { kind: 'beginning' },
				new_partition_policy: 'beginning',
				error_policy: 'block',
				desired_state: 'enabled',
			},
			fields,
			table_uuid: fresh(),
			checkpoint_revision: 1n,
			global_state_revision: this.#revision,
			next_sequence: 1n,
			snapshots: [],
		};
	}

	private change<T>(work: () => Promise<T>): Promise<T> {
		const run = this.#tail.then(work);
		this.#tail = run.catch(() => undefined);
		return run;
	}

	private async store(record: DestinationRecord): Promise<void> {
		const revision = this.#revision + 1n;
		const stored = { ...record, global_state_revision: revision };
		const key = hex(record.definition.id);
		await this.catalog.transaction((db) =>
			db.run('INSERT OR REPLACE INTO plane_destination VALUES ($1, $2)', [
				key,
				blobValue(encodeCbor(stored)),
			]),
		);
		this.#revision = revision;
		this.#byId.set(key, stored);
	}

	private current(id: Uint8Array, generation: bigint): DestinationRecord {
		const record = this.get(id);
		if (record?.definition.generation !== generation) throw new Error('this generation was superseded');
		return record;
	}

	write(
		id: Uint8Array,
		generation: bigint,
		rows: Iterable<RowInput>,
		overwrite: boolean,
	): Promise<SnapshotInfo> {
		return this.change(async () => {
			const record = this.current(id, generation);
			const cells = [...rows].map((row, i) =>
				typedRow(row, record.fields, `rows[${i}]`).map((value, at) =>
					toDuck(value, record.fields[at]!.field_type),
				),
			);
			const before = overwrite ? undefined : record.snapshots.at(-1);
			const folder = join(hex(id), generation.toString());
			await mkdir(join(this.folder, folder), { recursive: true });
			const file = join(folder, `data-${record.next_sequence}-${randomBytes(4).toString('hex')}.parquet`);
			const now = BigInt(Date.now()) * 1000n;
			await this.writeFile(file, record, cells, now);
			const last = record.snapshots.at(-1)?.timestamp_micros ?? 0n;
			const checkpoint_revision = record.checkpoint_revision + 1n;
			const snapshot_id = BigInt(`0x${randomBytes(8).toString('hex')}`) >> 1n || 1n;
			const rowCount = BigInt(cells.length);
			const snapshot: Snapshot = {
				snapshot_id,
				timestamp_micros: now > last ? now : last + 1n,
				checkpoint_revision,
				rows: (before?.rows ?? 0n) + rowCount,
				files: [...(before?.files ?? []), file],
				digest: new Uint8Array(
					createHash('sha256')
						.update(id)
						.update(`${generation}/${snapshot_id}/${checkpoint_revision}`)
						.digest(),
				),
				retained: true,
			};
			await this.store({
				...record,
				checkpoint_revision,
				next_sequence: record.next_sequence + rowCount,
				snapshots: [...record.snapshots, snapshot],
			});
			return infoOf(snapshot);
		});
	}

	private async writeFile(
		file: string,
		record: DestinationRecord,
		batch: ReturnType<typeof toDuck>[][],
		now: bigint,
	): Promise<void> {
		const { fields } = record;
		const columns = fields.map((field) => `f${field.id} ${sqlType(field.field_type)}`).join(', ');
		const types = fields.map((field) => duckType(field.field_type));
		await this.lake.transaction(async (db) => {
			await db.run(`CREATE TEMP TABLE staged (_seq BIGINT, _ts BIGINT, ${columns})`);
			await writeChunks(db, 'staged', [BIGINT, BIGINT, ...types], batch.length, (at) => [
				record.next_sequence + BigInt(at),
				now,
				...batch[at]!,
			]);
			await db.run(`COPY staged TO ${textLiteral(this.pathOf(file))} (FORMAT parquet, COMPRESSION zstd)`);
			await db.run('DROP TABLE staged');
		});
	}

	expire(id: Uint8Array, generation: bigint, snapshotId: bigint): Promise<void> {
		return this.change(async () => {
			const record = this.current(id, generation);
			const at = record.snapshots.findIndex((s) => s.snapshot_id === snapshotId && s.retained);
			if (at < 0) throw new Error(`no snapshot ${snapshotId}`);
			if (at === record.snapshots.length - 1) throw new Error('the current snapshot cannot expire');
			const snapshots = record.snapshots.map((s, i) => (i === at ? { ...s, files: [], retained: false } : s));
			await this.store({ ...record, snapshots });
			const used = new Set(snapshots.flatMap((s) => s.files));
			for (const file of record.snapshots[at]!.files)
				if (!used.has(file)) await rm(this.pathOf(file), { force: true });
		});
	}

	supersede(
		id: Uint8Array,
		generation: bigint,
		schema: readonly FieldInput[] | undefined,
	): Promise<DestinationRecord> {
		return this.change(async () => {
			const old = this.current(id, generation);
			const fields = schema === undefined ? old.fields : logicalFields(schema);
			await this.store(this.record(fields, { ...old.definition, generation: generation + 1n }));
			await rm(join(this.folder, hex(id), generation.toString()), { recursive: true, force: true });
			return this.get(id)!;
		});
	}

	async close(): Promise<void> {
		await this.#tail;
		await this.lake.close();
		if (this.temporary) await rm(this.folder, { recursive: true, force: true });
	}
}

export function infoOf(snapshot: Snapshot): SnapshotInfo {
	return {
		snapshotId: snapshot.snapshot_id,
		timestampMicros: snapshot.timestamp_micros,
		checkpointRevision: snapshot.checkpoint_revision,
		rows: snapshot.rows,
		files: [...snapshot.files],
	};
}
