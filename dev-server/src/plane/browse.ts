/** Browse commands: what is registered, and decoding a record by a registered schema. */
import type { Catalog, StoredSchema } from './catalog.js';
import { uses } from './control.js';
import { type Projection, readSchemaSource, type SchemaDef } from './control_model.js';
import type { Database } from './database.js';
import { type JsonValue, parseJson } from './json_value.js';
import { encodeOk, QueryFailure } from './query_reply.js';
import { asText, Fields } from './wire/fields.js';
import { plainName } from './wire/names.js';
import { invalid } from './wire/refusal.js';

function versioned(item: unknown): Fields {
	const fields = Fields.of(item, '');
	const v = fields.u32('v');
	if (v !== 1n) throw new QueryFailure({ Version: { expected: 1n, got: v } });
	return fields;
}

export class Browse {
	constructor(
		private readonly catalog: Catalog,
		private readonly database: Database,
	) {}

	getProjection(item: unknown): Uint8Array {
		const projection = this.catalog.projections.get(versioned(item).text('id'));
		return encodeOk({ Projection: projection === undefined ? null : this.projectionInfo(projection) });
	}

	listProjections(item: unknown): Uint8Array {
		const fields = versioned(item);
		const topics = fields.or('topics', [], (f, k) => f.list(k, asText));
		const nameContains = fields.optional('name_contains', (f, k) => f.text(k));
		const idPrefix = fields.optional('id_prefix', (f, k) => f.text(k));
		const search = fields.optional('search', (f, k) => f.text(k))?.toLowerCase();
		const found = [...this.catalog.projections.values()]
			.filter((p) => nameContains === undefined || p.name.includes(nameContains))
			.filter((p) => idPrefix === undefined || p.id.startsWith(idPrefix))
			.filter((p) => search === undefined || `${p.id}\n${p.name}`.toLowerCase().includes(search))
			.map((p) => this.projectionInfo(p))
			.filter((info) => topics.length === 0 || info.bindings?.some((b) => topics.includes(b.source.topic)))
			.sort((a, b) => (a.projection.id < b.projection.id ? -1 : 1));
		return encodeOk({ Projections: found });
	}

	private projectionInfo(projection: Projection) {
		const bindings = this.catalog.bindings.filter((binding) => uses(binding, projection.id));
		return { projection, bindings: bindings.length > 0 ? bindings : undefined };
	}

	getSchema(item: unknown): Uint8Array {
		const stored = this.schema(versioned(item));
		return encodeOk({ Schema: stored === undefined ? null : schemaInfo(stored) });
	}

	listSchemas(item: unknown): Uint8Array {
		const fields = versioned(item);
		const nameContains = fields.optional('name_contains', (f, k) => f.text(k));
		const stream = fields.optional('stream', (f, k) => f.text(k));
		const found = [...this.catalog.schemas.values()]
			.filter((s) => s.stream === stream)
			.filter((s) => nameContains === undefined || s.schema.name?.includes(nameContains))
			.sort((a, b) => Number(a.schema.id - b.schema.id));
		return encodeOk({ Schemas: found.map(schemaInfo) });
	}

	async registerSchema(item: unknown): Promise<Uint8Array> {
		const fields = versioned(item);
		const source = readSchemaSource(fields.required('source'), 'source');
		if (source.kind === 'unknown') invalid('schema_identity', 'source.kind');
		if (source.kind === 'json_schema') {
			try {
				parseJson(source.schema);
			} catch {
				invalid('schema_identity', 'source.schema', 'not JSON');
			}
		}
		const name = fields.optional('name', (f, k) => plainName(f.text(k), 'projection_id', f.at(k)));
		const version = fields.optional('version', (f, k) => f.u32(k));
		const stream = fields.optional('stream', (f, k) => f.text(k));
		const id = await this.database.transaction(async (db) => {
			const schema: SchemaDef = { id: BigInt(this.catalog.nextSchemaId()), source, name, version };
			const publish = await this.catalog.putSchema(db, { schema, dropped: false, stream });
			// Inside the queue, so that no other registration can take the same id.
			publish();
			return schema.id;
		});
		return encodeOk({ SchemaRegistered: id });
	}

	/** Served for JSON schemas: the record as JSON. Other writers' formats are not decoded here. */
	decodeRecord(item: unknown): Uint8Array {
		const fields = versioned(item);
		const payload = fields.bytes('payload');
		const stored = this.schema(fields);
		if (stored === undefined) return encodeOk({ Decoded: null });
		if (stored.schema.source.kind !== 'json_schema') {
			throw new QueryFailure({ Unsupported: `decoding ${stored.schema.source.kind}` });
		}
		try {
			const text = new TextDecoder('utf-8', { fatal: true }).decode(payload);
			return encodeOk({ Decoded: toCbor(parseJson(text)) });
		} catch {
			return encodeOk({ Decoded: null });
		}
	}

	private schema(fields: Fields): StoredSchema | undefined {
		const stored = this.catalog.schemas.get(Number(fields.u32('id')));
		const stream = fields.optional('stream', (f, k) => f.text(k));
		return stored?.stream === stream ? stored : undefined;
	}
}

function schemaInfo(stored: StoredSchema) {
	return { schema: stored.schema, dropped: stored.dropped };
}

function toCbor(value: JsonValue): unknown {
	if (Array.isArray(value)) return value.map(toCbor);
	if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, toCbor(item)]));
	return value;
}
