/** Control commands: checked, stored with their outcome in one transaction, then visible to the projector. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Catalog } from './catalog.js';
import type { Binding, ControlCommand, ControlEnvelope } from './control_model.js';
import { type Feed, OPS_STREAM } from './feed.js';
import type { IndexStore } from './index_store.js';
import { trimmedName } from './wire/names.js';
import { invalid } from './wire/refusal.js';

export type Accepted =
	| { kind: 'accepted'; apply: (db: DuckDBConnection) => Promise<() => void> }
	| { kind: 'unsupported'; what: string };

const MAX_STREAM_BYTES = 255;

export class Control {
	constructor(
		private readonly catalog: Catalog,
		private readonly indexes: IndexStore,
		private readonly feed: Feed,
	) {}

	/** Validates the command and does what must precede its transaction (tables, feed topics: both harmless twice). */
	async accept(envelope: ControlEnvelope): Promise<Accepted> {
		if (envelope.stamped) invalid('version', 'stamp', 'clients set no stamp');
		if (envelope.stream !== undefined) streamName(envelope.stream, 'stream');
		const { command } = envelope;
		switch (command.name) {
			case 'RegisterProjection':
				return this.registerProjection(command);
			case 'DropProjection':
				return accepted((db) => this.catalog.dropProjection(db, command.id));
			case 'ApplyBinding':
				return this.applyBinding(command.binding);
			case 'RemoveBinding':
				return accepted((db) => this.catalog.removeBinding(db, command.source, command.projectionRef));
			case 'RegisterSchema': {
				const { schema } = command;
				if (schema.source.kind === 'unknown') invalid('projection_id', 'command.RegisterSchema.source');
				if (schema.id === 0n) invalid('schema_identity', 'command.RegisterSchema.id');
				const known = this.catalog.schemas.get(Number(schema.id));
				if (known?.dropped)
					invalid('schema_identity', 'command.RegisterSchema.id', 'a dropped id stays dropped');
				return accepted((db) =>
					this.catalog.putSchema(db, { schema, dropped: false, stream: envelope.stream }),
				);
			}
			case 'DropSchema': {
				const known = this.catalog.schemas.get(Number(command.id));
				if (known === undefined) return accepted(async () => () => undefined);
				return accepted((db) => this.catalog.putSchema(db, { ...known, dropped: true }));
			}
			case 'unserved':
				return { kind: 'unsupported', what: command.variant };
		}
	}

	private async registerProjection(
		command: ControlCommand & { name: 'RegisterProjection' },
	): Promise<Accepted> {
		const { projection } = command;
		if (projection.kind !== undefined) {
			invalid(
				'projection_id',
				'command.RegisterProjection.kind',
				'a graph projection is registered as a graph',
			);
		}
		const names = projection.extraction.fields.map((field) => field.name);
		if (new Set(names).size !== names.length) {
			invalid('projection_field', 'command.RegisterProjection.extraction.fields', 'two fields of one name');
		}
		for (const name of names) {
			trimmedName(name, 'projection_field', 'command.RegisterProjection.extraction.fields');
			if (name.startsWith('__laser_')) {
				invalid('projection_field', 'command.RegisterProjection.extraction.fields', 'reserved name');
			}
		}
		for (const binding of this.catalog.bindings) {
			if (!uses(binding, projection.id)) continue;
			const index = this.indexes.get(binding.index);
			if (index !== undefined) await this.indexes.ensureFields(index, projection);
		}
		return accepted((db) => this.catalog.putProjection(db, projection));
	}

	private async applyBinding(binding: Binding): Promise<Accepted> {
		const at = 'command.ApplyBinding';
		streamName(binding.source.stream, `${at}.source.stream`);
		streamName(binding.source.topic, `${at}.source.topic`);
		trimmedName(binding.index, 'query_name', `${at}.index`);
		if (binding.source.stream === OPS_STREAM) {
			invalid('query_name', `${at}.source.stream`, 'the ops stream is not projected');
		}
		if (binding.retention?.kind === 'unknown') invalid('projection_id', `${at}.retention`, 'unknown policy');
		if (binding.retention?.kind === 'max_rows' && binding.retention.rows > MAX_I64) {
			invalid('projection_id', `${at}.retention.rows`);
		}
		if (binding.retention?.kind === 'time_to_live' && binding.retention.ttl_micros > MAX_I64 / 2n) {
			invalid('projection_id', `${at}.retention.ttl_micros`);
		}
		if (binding.backend !== undefined) return { kind: 'unsupported', what: 'a pinned backend' };
		const index = await this.indexes.ensure(binding.index);
		if (index.created)
			invalid('query_name', 'command.ApplyBinding.index', 'this index has a schema of its own');
		for (const projection of this.catalog.projections.values()) {
			if (uses(binding, projection.id)) await this.indexes.ensureFields(index, projection);
		}
		if (binding.notify) await this.feed.prepare(binding.index);
		return accepted((db) => this.catalog.putBinding(db, binding));
	}
}

const MAX_I64 = 2n ** 63n - 1n;

function accepted(apply: (db: DuckDBConnection) => Promise<() => void>): Accepted {
	return { kind: 'accepted', apply };
}

export function uses(binding: Binding, projectionId: string): boolean {
	return binding.default_projection === projectionId || binding.allowed_projections.includes(projectionId);
}

function streamName(text: string, path: string): void {
	const length = Buffer.byteLength(text, 'utf8');
	if (length < 1 || length > MAX_STREAM_BYTES) invalid('query_name', path);
}
