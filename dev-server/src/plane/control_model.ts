/**
 * Projections, bindings, schemas and the control command (contract 12), as maps in wire order: what `read…` returns
 * encodes back to the same message.
 */
import { asInteger, asText, Fields, variantOf } from './wire/fields.js';
import { hasControl, plainName, utf8Length } from './wire/names.js';
import { codec, invalid } from './wire/refusal.js';

export const CONTENT_TYPES = [
	'any',
	'raw',
	'json',
	'avro',
	'protobuf',
	'msgpack',
	'cbor',
	'bson',
	'arrow',
	'ref',
] as const;
export type ContentType = (typeof CONTENT_TYPES)[number];
export const FIELD_TYPES = ['text', 'int', 'float', 'bool'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export interface IndexField {
	name: string;
	pointer: string;
	field_type: FieldType | undefined;
}

export interface Projection {
	id: string;
	name: string;
	version: bigint;
	kind: bigint | undefined;
	content_type: ContentType;
	extraction: { fields: IndexField[]; vector_field: string | undefined; inline_payload: boolean };
	entity_schema: unknown;
	inline_payload_default: boolean;
}

export interface Source {
	stream: string;
	topic: string;
}

export type RetentionPolicy =
	| { kind: 'mirror_log' }
	| { kind: 'keep' }
	| { kind: 'keep_until_source_deleted' }
	| { kind: 'time_to_live'; ttl_micros: bigint }
	| { kind: 'max_rows'; rows: bigint }
	| { kind: 'unknown' };

export interface Binding {
	source: Source;
	allowed_projections: string[];
	default_projection: string | null;
	backend: { resource_id: Uint8Array; generation: bigint } | undefined;
	index: string;
	notify: true | undefined;
	retention: RetentionPolicy | undefined;
	skip_rejected: true | undefined;
}

export type SchemaSource =
	| { kind: 'avro'; schema: string }
	| { kind: 'protobuf'; descriptor_set: Uint8Array; message_type: string }
	| { kind: 'json_schema'; schema: string }
	| { kind: 'unknown' };

export interface SchemaDef {
	id: bigint;
	source: SchemaSource;
	name: string | undefined;
	version: bigint | undefined;
}

export type ControlCommand =
	| { name: 'RegisterProjection'; projection: Projection }
	| { name: 'DropProjection'; id: string }
	| { name: 'ApplyBinding'; binding: Binding }
	| { name: 'RemoveBinding'; source: Source; projectionRef: string | null }
	| { name: 'RegisterSchema'; schema: SchemaDef }
	| { name: 'DropSchema'; id: bigint }
	| { name: 'unserved'; variant: string };

export interface ControlEnvelope {
	v: bigint;
	timestamp_micros: bigint;
	command: ControlCommand;
	stream: string | undefined;
	stamped: boolean;
}

export function projectionId(text: string, path: string): string {
	plainName(text, 'projection_id', path);
	if (text.startsWith('index:')) invalid('projection_id', path, 'reserved');
	return text;
}

export function readSource(item: unknown, path: string): Source {
	const fields = Fields.of(item, path);
	return { stream: fields.text('stream'), topic: fields.text('topic') };
}

export function readProjection(item: unknown, path: string): Projection {
	const fields = Fields.of(item, path);
	const kind = fields.or('kind', 0n, (f, k) => f.u8(k));
	const projection: Projection = {
		id: fields.text('id'),
		name: fields.text('name'),
		version: fields.or('version', 1n, (f, k) => f.u32(k)),
		kind: kind === 0n ? undefined : kind,
		content_type: fields.or('content_type', 'any', (f, k) => f.oneOf(k, CONTENT_TYPES)),
		extraction: readExtraction(
			fields.or('extraction', {}, (f, k) => f.required(k)),
			fields.at('extraction'),
		),
		entity_schema: fields.has('entity_schema') ? fields.raw('entity_schema') : undefined,
		inline_payload_default: fields.or('inline_payload_default', false, (f, k) => f.bool(k)),
	};
	projectionId(projection.id, fields.at('id'));
	if (utf8Length(projection.name) > 255 || hasControl(projection.name))
		invalid('projection_id', fields.at('name'));
	return projection;
}

function readExtraction(item: unknown, path: string): Projection['extraction'] {
	const fields = Fields.of(item, path);
	const extraction = {
		fields: fields.or('fields', [], (f, k) =>
			f.list(k, (entry, p): IndexField => {
				const field = Fields.of(entry, p);
				return {
					name: field.text('name'),
					pointer: field.text('pointer'),
					field_type: field.optional('field_type', (x, key) => x.oneOf(key, FIELD_TYPES)),
				};
			}),
		),
		vector_field: fields.optional('vector_field', (f, k) => f.text(k)),
		inline_payload: fields.or('inline_payload', false, (f, k) => f.bool(k)),
	};
	for (const [i, field] of extraction.fields.entries()) {
		plainName(field.name, 'projection_field', `${path}.fields[${i}].name`);
		plainName(field.pointer, 'projection_field', `${path}.fields[${i}].pointer`);
	}
	if (extraction.vector_field !== undefined) {
		plainName(extraction.vector_field, 'projection_field', fields.at('vector_field'));
	}
	return extraction;
}

export function readBinding(item: unknown, path: string): Binding {
	const fields = Fields.of(item, path);
	const allowed = fields.or('allowed_projections', [], (f, k) =>
		f.list(k, (entry, p) => projectionId(asText(entry, p), p)),
	);
	return {
		source: readSource(fields.required('source'), fields.at('source')),
		allowed_projections: allowed,
		default_projection:
			fields.optional('default_projection', (f, k) => projectionId(f.text(k), f.at(k))) ?? null,
		backend: fields.optional('backend', (f, k) => readBackend(f.child(k))),
		index: fields.text('index'),
		notify: fields.or('notify', false, (f, k) => f.bool(k)) || undefined,
		retention: fields.optional('retention', (f, k) => readRetention(f.child(k))),
		skip_rejected: fields.or('skip_rejected', false, (f, k) => f.bool(k)) || undefined,
	};
}

function readBackend(fields: Fields): { resource_id: Uint8Array; generation: bigint } {
	const backend = { resource_id: fields.id('resource_id'), generation: fields.u64('generation') };
	if (backend.generation === 0n || backend.resource_id.every((byte) => byte === 0)) {
		invalid('descriptor_identity', fields.path);
	}
	return backend;
}

function readRetention(fields: Fields): RetentionPolicy {
	const kind = fields.text('kind');
	switch (kind) {
		case 'mirror_log':
		case 'keep':
		case 'keep_until_source_deleted':
			return { kind };
		case 'time_to_live':
			return { kind, ttl_micros: fields.u64('ttl_micros') };
		case 'max_rows':
			return { kind, rows: fields.u64('rows') };
		default:
			return { kind: 'unknown' };
	}
}

export function readSchemaSource(item: unknown, path: string): SchemaSource {
	const fields = Fields.of(item, path);
	const kind = fields.text('kind');
	switch (kind) {
		case 'avro':
		case 'json_schema':
			return { kind, schema: fields.text('schema') };
		case 'protobuf':
			return {
				kind,
				descriptor_set: fields.bytes('descriptor_set'),
				message_type: fields.text('message_type'),
			};
		default:
			return { kind: 'unknown' };
	}
}

export function readSchemaDef(item: unknown, path: string): SchemaDef {
	const fields = Fields.of(item, path);
	return {
		id: fields.u32('id'),
		source: readSchemaSource(fields.required('source'), fields.at('source')),
		name: fields.optional('name', (f, k) => plainName(f.text(k), 'projection_id', f.at(k))),
		version: fields.optional('version', (f, k) => f.u32(k)),
	};
}

export function readControlEnvelope(item: unknown): ControlEnvelope {
	const fields = Fields.of(item, '');
	const envelope = {
		v: fields.or('v', 1n, (f, k) => f.u32(k)),
		timestamp_micros: fields.u64('timestamp_micros'),
		command: readCommand(fields.required('command'), 'command'),
		stream: fields.optional('stream', (f, k) => f.text(k)),
		stamped: fields.has('stamp'),
	};
	if (envelope.v !== 1n) invalid('version', 'v');
	return envelope;
}

const UNSERVED = [
	'RegisterGraph',
	'DropGraph',
	'RegisterSessionSource',
	'RemoveSessionSource',
	'FilterCatalog',
	'AcceptGap',
	'SkipRecord',
];

function readCommand(item: unknown, path: string): ControlCommand {
	const { name, data } = variantOf(item, path);
	const at = `${path}.${name}`;
	switch (name) {
		case 'RegisterProjection':
			return { name, projection: readProjection(data, at) };
		case 'DropProjection':
			return { name, id: projectionId(asText(data, at), at) };
		case 'ApplyBinding':
			return { name, binding: readBinding(data, at) };
		case 'RemoveBinding': {
			const fields = Fields.of(data, at);
			return {
				name,
				source: readSource(fields.required('source'), `${at}.source`),
				projectionRef: fields.optional('projection_ref', (f, k) => f.text(k)) ?? null,
			};
		}
		case 'RegisterSchema':
			return { name, schema: readSchemaDef(data, at) };
		case 'DropSchema':
			return { name, id: asInteger(data, at, 0n, 0xffff_ffffn) };
		default:
			if (!UNSERVED.includes(name)) codec('unknown_variant', path, name);
			return { name: 'unserved', variant: name };
	}
}
