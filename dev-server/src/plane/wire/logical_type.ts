/** Logical types and fields (contract 9.1, 9.4, 9.5), in wire order and with wire integers: they encode as they stand. */
import { createHash } from 'node:crypto';
import { trimmedName, utf8Length } from './names.js';
import { invalid } from './refusal.js';
import { KEY_KINDS, MAX_DEPTH, type TypedValue } from './typed_value.js';

export const SIMPLE_KINDS = [
	'boolean',
	'int',
	'long',
	'float',
	'double',
	'date',
	'time_micros',
	'timestamp_micros',
	'timestamp_tz_micros',
	'string',
	'uuid',
	'binary',
] as const;
export type SimpleKind = (typeof SIMPLE_KINDS)[number];

export type LogicalType =
	| { kind: SimpleKind }
	| { kind: 'decimal'; precision: bigint; scale: bigint }
	| { kind: 'fixed'; length: bigint }
	| { kind: 'struct'; fields: LogicalField[] }
	| { kind: 'list'; element_id: bigint; element_required: boolean; element: LogicalType }
	| {
			kind: 'map';
			key_id: bigint;
			key: LogicalType;
			value_id: bigint;
			value_required: boolean;
			value: LogicalType;
	  };

export type LogicalKind = LogicalType['kind'];

/** Order as the fingerprint tags them. */
export const LOGICAL_KINDS: readonly LogicalKind[] = [
	'boolean',
	'int',
	'long',
	'float',
	'double',
	'decimal',
	'date',
	'time_micros',
	'timestamp_micros',
	'timestamp_tz_micros',
	'string',
	'uuid',
	'fixed',
	'binary',
	'struct',
	'list',
	'map',
];

export interface LogicalField {
	id: bigint;
	name: string;
	required: boolean;
	field_type: LogicalType;
	doc?: string | undefined;
}

const MAX_ID = 1_999_999_999n;
const MAX_FIELDS = 4096;
const MAX_SCHEMA_BYTES = 1_048_576;

export const PROVENANCE_IDS: ReadonlyMap<string, bigint> = new Map(
	[
		'cluster_incarnation',
		'source_incarnation',
		'stream_id',
		'topic_id',
		'partition_id',
		'offset',
		'row_ordinal',
		'projection_id',
		'projection_version',
		'destination_id',
		'destination_generation',
		'original_payload',
		'original_content_type',
		'original_schema_id',
	].map((name, i): [string, bigint] => [`__laser_${name}`, 2_000_000_001n + BigInt(i)]),
);

class FieldWalk {
	private readonly ids = new Set<bigint>();
	private count = 0;
	private size = 0;

	fields(fields: readonly LogicalField[], path: string, depth: number): void {
		if (depth > MAX_DEPTH) invalid('depth_exceeded', path);
		const names = new Set<string>();
		for (const [i, field] of fields.entries()) {
			const at = `${path}[${i}]`;
			this.field(field, at, depth === 1);
			if (names.has(field.name)) invalid('field_name_duplicate', `${at}.name`);
			names.add(field.name);
			this.type(field.field_type, `${at}.field_type`, depth);
		}
	}

	private field(field: LogicalField, at: string, top: boolean): void {
		const reserved = PROVENANCE_IDS.get(field.name);
		const exact = top && reserved !== undefined && reserved === field.id;
		this.id(field.id, `${at}.id`, exact);
		if (reserved !== undefined && !exact) invalid('field_name_reserved', `${at}.name`);
		trimmedName(field.name, 'field_name', `${at}.name`);
		const doc = field.doc === undefined ? 0 : utf8Length(field.doc);
		if (doc > 4096) invalid('field_doc', `${at}.doc`);
		this.size += utf8Length(field.name) + doc + 16;
		if (this.size > MAX_SCHEMA_BYTES) invalid('schema_size', at);
	}

	private id(id: bigint, at: string, provenance = false): void {
		if (!provenance && (id < 1n || id > MAX_ID)) invalid('field_id', at);
		if (this.ids.has(id)) invalid('field_id_duplicate', at);
		this.ids.add(id);
		this.count += 1;
		if (this.count > MAX_FIELDS) invalid('schema_size', at);
	}

	private type(type: LogicalType, at: string, depth: number): void {
		if (depth > MAX_DEPTH) invalid('depth_exceeded', at);
		switch (type.kind) {
			case 'decimal':
				if (type.precision < 1n || type.precision > 38n || type.scale < 0n || type.scale > type.precision)
					invalid('decimal_precision', at);
				return;
			case 'fixed':
				if (type.length < 1n || type.length > 1_048_576n) invalid('fixed_length', at);
				return;
			case 'struct':
				this.fields(type.fields, `${at}.fields`, depth + 1);
				return;
			case 'list':
				this.id(type.element_id, `${at}.element_id`);
				this.type(type.element, `${at}.element`, depth + 1);
				return;
			case 'map':
				this.id(type.key_id, `${at}.key_id`);
				if (!KEY_KINDS.has(type.key.kind)) invalid('map_key_kind', `${at}.key`);
				this.type(type.key, `${at}.key`, depth + 1);
				this.id(type.value_id, `${at}.value_id`);
				this.type(type.value, `${at}.value`, depth + 1);
				return;
		}
	}
}

/** The field-tree rules over a whole schema or the fields of a result. */
export function checkFields(fields: readonly LogicalField[], path: string): void {
	new FieldWalk().fields(fields, path, 1);
}

export function sameType(a: LogicalType, b: LogicalType): boolean {
	if (a.kind !== b.kind) return false;
	const text = (type: LogicalType) =>
		JSON.stringify(type, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
	return text(a) === text(b);
}

/** A value, sound on its own, against the type of its field. */
export function checkValue(value: TypedValue, type: LogicalType, required: boolean, path: string): void {
	if (value.kind === 'null') {
		if (required) invalid('required_null', path);
		return;
	}
	if (value.kind !== type.kind) invalid('type_mismatch', path, `${value.kind} for ${type.kind}`);
	switch (type.kind) {
		case 'decimal': {
			const { precision, scale } = (value as TypedValue & { kind: 'decimal' }).value;
			if (precision !== type.precision || scale !== type.scale) invalid('decimal_type', path);
			return;
		}
		case 'fixed':
			if (BigInt((value as TypedValue & { kind: 'fixed' }).value.length) !== type.length)
				invalid('fixed_value_length', path);
			return;
		case 'struct': {
			const entries = (value as TypedValue & { kind: 'struct' }).value;
			if (entries.length !== type.fields.length) invalid('struct_field_count', path);
			for (const [i, field] of type.fields.entries()) {
				if (entries[i]!.field_id !== field.id) invalid('struct_field_id', `${path}[${i}]`);
				checkValue(entries[i]!.value, field.field_type, field.required, `${path}.${field.name}`);
			}
			return;
		}
		case 'list':
			for (const [i, item] of (value as TypedValue & { kind: 'list' }).value.entries())
				checkValue(item, type.element, type.element_required, `${path}[${i}]`);
			return;
		case 'map':
			for (const [i, entry] of (value as TypedValue & { kind: 'map' }).value.entries()) {
				checkValue(entry.key, type.key, true, `${path}[${i}].key`);
				checkValue(entry.value, type.value, type.value_required, `${path}[${i}].value`);
			}
			return;
	}
}

/** SHA-256 over the canonical form of a schema (contract 9.2). */
export function schemaFingerprint(
	id: Uint8Array,
	version: bigint,
	fields: readonly LogicalField[],
): Uint8Array {
	const hash = createHash('sha256');
	const u32 = (value: bigint | number) => {
		const out = Buffer.alloc(4);
		out.writeUInt32BE(Number(value));
		hash.update(out);
	};
	const byte = (value: number) => hash.update(Uint8Array.of(value));
	const text = (value: string) => {
		u32(utf8Length(value));
		hash.update(value, 'utf8');
	};
	const list = (items: readonly LogicalField[]) => {
		u32(items.length);
		for (const field of items) {
			u32(field.id);
			byte(field.required ? 1 : 0);
			text(field.name);
			byte(field.doc === undefined ? 0 : 1);
			if (field.doc !== undefined) text(field.doc);
			type(field.field_type);
		}
	};
	const type = (t: LogicalType) => {
		byte(LOGICAL_KINDS.indexOf(t.kind));
		switch (t.kind) {
			case 'decimal':
				byte(Number(t.precision));
				byte(Number(t.scale));
				return;
			case 'fixed':
				return u32(t.length);
			case 'struct':
				return list(t.fields);
			case 'list':
				u32(t.element_id);
				byte(t.element_required ? 1 : 0);
				return type(t.element);
			case 'map':
				u32(t.key_id);
				type(t.key);
				u32(t.value_id);
				byte(t.value_required ? 1 : 0);
				return type(t.value);
		}
	};
	hash.update('AGDX-SCHEMA-V1\0', 'latin1');
	hash.update(id);
	u32(version);
	list(fields);
	return new Uint8Array(hash.digest());
}
