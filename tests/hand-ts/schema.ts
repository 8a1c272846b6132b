import { type Reader, Refused } from './cbor.js';

/** A node with an id: a field, a list's element, a map's key or value. */
export interface Field {
	id: number;
	name: string;
	required: boolean;
	kind: string;
	precision: number;
	scale: number;
	length: number;
	children: Field[];
	doc: string | undefined;
	named: boolean;
}

export const KINDS = new Set([
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
]);

const KEY_KINDS = new Set(
	[...KINDS].filter((kind) => !['float', 'double', 'struct', 'list', 'map'].includes(kind)),
);
const PROVENANCE = [
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
].map((name) => `__laser_${name}`);
const MAX_DEPTH = 16;

/** A map's values by key, each read by its own function; unknown keys are passed over. */
export function readMap(
	reader: Reader,
	keys: Record<string, () => unknown>,
	required: readonly string[],
): void {
	const seen = new Set<string>();
	const start = reader.at;
	for (let left = reader.map(); reader.more(left); left--) {
		const at = reader.at;
		const key = reader.text();
		const read = Object.hasOwn(keys, key) ? keys[key] : undefined;
		if (read === undefined) {
			reader.skip();
			continue;
		}
		if (seen.has(key)) reader.fail('duplicate_key', at);
		seen.add(key);
		read();
	}
	for (const key of required) if (!seen.has(key)) reader.fail('missing_field', start);
}

export function readFields(reader: Reader, depth = 1): Field[] {
	const fields: Field[] = [];
	for (let left = reader.array(); reader.more(left); left--) fields.push(readField(reader, depth));
	return fields;
}

function blank(): Field {
	return {
		id: 0,
		name: '',
		required: false,
		kind: '',
		precision: 0,
		scale: 0,
		length: 0,
		children: [],
		doc: undefined,
		named: true,
	};
}

function readField(reader: Reader, depth: number): Field {
	const field = blank();
	readMap(
		reader,
		{
			id: () => (field.id = reader.unsigned(0xffff_ffff)),
			name: () => (field.name = reader.text()),
			required: () => (field.required = reader.boolean()),
			field_type: () => readType(reader, field, depth),
			doc: () => (field.doc = reader.takeNull() ? undefined : reader.text()),
		},
		['id', 'name', 'required', 'field_type'],
	);
	return field;
}

function readType(reader: Reader, field: Field, depth: number): void {
	if (depth > MAX_DEPTH) throw new Refused('depth_exceeded', reader.at, 'invalid');
	// What a key means does not depend on the kind, only whether it must be there.
	const parts: Record<string, Field> = {};
	const part = (name: string): Field => {
		parts[name] ??= { ...blank(), children: [], named: false };
		return parts[name];
	};
	const seen: Record<string, () => void> = {};
	const note = (key: string, read: () => void) => {
		seen[key] = () => {};
		read();
	};
	let kind = '';
	readMap(
		reader,
		{
			kind: () => {
				const at = reader.at;
				kind = reader.text();
				if (!KINDS.has(kind)) reader.fail('unknown_variant', at);
			},
			precision: () => note('precision', () => (field.precision = reader.unsigned(255))),
			scale: () => note('scale', () => (field.scale = reader.unsigned(255))),
			length: () => note('length', () => (field.length = reader.unsigned(0xffff_ffff))),
			fields: () => note('fields', () => (field.children = readFields(reader, depth + 1))),
			element_id: () => note('element_id', () => (part('element').id = reader.unsigned(0xffff_ffff))),
			element_required: () => note('element_required', () => (part('element').required = reader.boolean())),
			element: () => note('element', () => readType(reader, part('element'), depth + 1)),
			key_id: () => note('key_id', () => (part('key').id = reader.unsigned(0xffff_ffff))),
			key: () => note('key', () => readType(reader, part('key'), depth + 1)),
			value_id: () => note('value_id', () => (part('value').id = reader.unsigned(0xffff_ffff))),
			value_required: () => note('value_required', () => (part('value').required = reader.boolean())),
			value: () => note('value', () => readType(reader, part('value'), depth + 1)),
		},
		['kind'],
	);
	const needed: Record<string, string[]> = {
		decimal: ['precision', 'scale'],
		fixed: ['length'],
		struct: ['fields'],
		list: ['element_id', 'element_required', 'element'],
		map: ['key_id', 'key', 'value_id', 'value_required', 'value'],
	};
	for (const key of needed[kind] ?? []) if (!Object.hasOwn(seen, key)) reader.fail('missing_field');
	field.kind = kind;
	if (kind === 'list') field.children = [part('element')];
	if (kind === 'map') {
		part('key').required = true;
		field.children = [part('key'), part('value')];
	}
}

const utf8 = new TextEncoder();

export function isName(name: string): boolean {
	const bytes = utf8.encode(name).length;
	if (bytes < 1 || bytes > 255 || hasControl(name)) return false;
	return !/^\p{White_Space}|\p{White_Space}$/u.test(name);
}

export function hasControl(text: string): boolean {
	return /\p{Cc}/u.test(text);
}

/** The rules of a result's field tree. */
export function checkResultFields(fields: readonly Field[]): void {
	const refuse = (rule: string): never => {
		throw new Refused(rule, 0, 'invalid');
	};
	if (fields.length === 0) refuse('fields_empty');
	const ids = new Set<number>();
	let size = 0;
	const walk = (siblings: readonly Field[], top: boolean): void => {
		const names = new Set<string>();
		for (const field of siblings) {
			const provenance = top && PROVENANCE[field.id - 2_000_000_001] === field.name;
			if (!provenance && (field.id < 1 || field.id > 1_999_999_999)) refuse('field_id');
			if (ids.has(field.id)) refuse('field_id_duplicate');
			ids.add(field.id);
			if (ids.size > 4096) refuse('schema_size');
			if (field.named) {
				if (!isName(field.name)) refuse('field_name');
				if (names.has(field.name)) refuse('field_name_duplicate');
				names.add(field.name);
				if (!provenance && PROVENANCE.includes(field.name)) refuse('field_name_reserved');
				const doc = field.doc === undefined ? 0 : utf8.encode(field.doc).length;
				if (doc > 4096) refuse('field_doc');
				size += utf8.encode(field.name).length + doc + 16;
				if (size > 1_048_576) refuse('schema_size');
			}
			const { kind, precision, scale, length } = field;
			if (kind === 'decimal' && (precision < 1 || precision > 38 || scale > precision))
				refuse('decimal_precision');
			if (kind === 'fixed' && (length < 1 || length > 1_048_576)) refuse('fixed_length');
			if (kind === 'map' && !KEY_KINDS.has(field.children[0]!.kind)) refuse('map_key_kind');
			walk(field.children, false);
		}
	};
	walk(fields, true);
}
