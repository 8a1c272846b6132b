/** What control commands made: projections, bindings and schemas, stored and held in memory. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { blobValue } from '@duckdb/node-api';
import {
	type Binding,
	type Projection,
	readBinding,
	readProjection,
	readSchemaDef,
	type SchemaDef,
	type Source,
} from './control_model.js';
import { type Database, rows } from './database.js';
import { decodeCbor, encodeCbor } from './wire/cbor.js';

export interface StoredSchema {
	schema: SchemaDef;
	dropped: boolean;
	/** Stream under which it was registered, undefined for the deployment. */
	stream: string | undefined;
}

export function sameSource(a: Source, b: Source): boolean {
	return a.stream === b.stream && a.topic === b.topic;
}

export class Catalog {
	readonly projections = new Map<string, Projection>();
	readonly schemas = new Map<number, StoredSchema>();
	bindings: Binding[] = [];

	static async open(database: Database): Promise<Catalog> {
		const catalog = new Catalog();
		await database.transaction(async (db) => {
			await db.run('CREATE TABLE IF NOT EXISTS plane_projection (id VARCHAR PRIMARY KEY, body BLOB)');
			await db.run(
				`CREATE TABLE IF NOT EXISTS plane_binding
				 (stream VARCHAR, topic VARCHAR, index_name VARCHAR, body BLOB, PRIMARY KEY (stream, topic, index_name))`,
			);
			await db.run(
				'CREATE TABLE IF NOT EXISTS plane_schema (id UINTEGER PRIMARY KEY, body BLOB, dropped BOOLEAN, stream VARCHAR)',
			);
			for (const [body] of await rows(db, 'SELECT body FROM plane_projection ORDER BY id')) {
				const projection = readProjection(decodeCbor(blob(body)), '');
				catalog.projections.set(projection.id, projection);
			}
			for (const [body] of await rows(db, 'SELECT body FROM plane_binding ORDER BY ALL')) {
				catalog.bindings.push(readBinding(decodeCbor(blob(body)), ''));
			}
			for (const [body, dropped, stream] of await rows(
				db,
				'SELECT body, dropped, stream FROM plane_schema',
			)) {
				const schema = readSchemaDef(decodeCbor(blob(body)), '');
				catalog.schemas.set(Number(schema.id), {
					schema,
					dropped: dropped as boolean,
					stream: (stream as string | null) ?? undefined,
				});
			}
		});
		return catalog;
	}

	/** Each change is stored with `db`; the returned function makes it visible once the transaction has committed. */
	async putProjection(db: DuckDBConnection, projection: Projection): Promise<() => void> {
		await db.run('INSERT OR REPLACE INTO plane_projection VALUES ($1, $2)', [
			projection.id,
			blobValue(encodeCbor(projection)),
		]);
		return () => void this.projections.set(projection.id, projection);
	}

	async dropProjection(db: DuckDBConnection, id: string): Promise<() => void> {
		await db.run('DELETE FROM plane_projection WHERE id = $1', [id]);
		return () => void this.projections.delete(id);
	}

	async putBinding(db: DuckDBConnection, binding: Binding): Promise<() => void> {
		await db.run('INSERT OR REPLACE INTO plane_binding VALUES ($1, $2, $3, $4)', [
			binding.source.stream,
			binding.source.topic,
			binding.index,
			blobValue(encodeCbor(binding)),
		]);
		return () => {
			this.bindings = [
				...this.bindings.filter((b) => !(sameSource(b.source, binding.source) && b.index === binding.index)),
				binding,
			];
		};
	}

	/** Without a projection the source loses its bindings; with one, each binding loses that projection. */
	async removeBinding(
		db: DuckDBConnection,
		source: Source,
		projectionRef: string | null,
	): Promise<() => void> {
		const publish: (() => void)[] = [];
		for (const binding of this.bindings.filter((b) => sameSource(b.source, source))) {
			const allowed = binding.allowed_projections.filter((id) => id !== projectionRef);
			const fallback = binding.default_projection === projectionRef ? null : binding.default_projection;
			if (projectionRef !== null && (allowed.length > 0 || fallback !== null)) {
				const rest = { ...binding, allowed_projections: allowed, default_projection: fallback };
				publish.push(await this.putBinding(db, rest));
			} else {
				await db.run('DELETE FROM plane_binding WHERE stream = $1 AND topic = $2 AND index_name = $3', [
					source.stream,
					source.topic,
					binding.index,
				]);
				publish.push(() => {
					this.bindings = this.bindings.filter((b) => b !== binding);
				});
			}
		}
		return () => {
			for (const apply of publish) apply();
		};
	}

	async putSchema(db: DuckDBConnection, stored: StoredSchema): Promise<() => void> {
		await db.run('INSERT OR REPLACE INTO plane_schema VALUES ($1, $2, $3, $4)', [
			Number(stored.schema.id),
			blobValue(encodeCbor(stored.schema)),
			stored.dropped,
			stored.stream ?? null,
		]);
		return () => void this.schemas.set(Number(stored.schema.id), stored);
	}

	nextSchemaId(): number {
		return Math.max(0, ...this.schemas.keys()) + 1;
	}
}

export function blob(value: unknown): Uint8Array {
	return (value as { bytes: Uint8Array }).bytes;
}
