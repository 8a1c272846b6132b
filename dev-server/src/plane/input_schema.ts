/** Schemas given to the server's own API, as logical fields with every id assigned. */
import type { FieldInput, FieldTypeInput } from '../contract.js';
import { checkFields, type LogicalField, type LogicalType, PROVENANCE_IDS } from './wire/logical_type.js';
import { invalid } from './wire/refusal.js';

export function logicalFields(schema: readonly FieldInput[]): LogicalField[] {
	if (schema.length === 0) invalid('schema_empty', 'schema');
	const given = new Set<bigint>();
	const collect = (fields: readonly FieldInput[]): void => {
		for (const field of fields) {
			if (field.id !== undefined) given.add(BigInt(field.id));
			collectType(field.type);
		}
	};
	const collectType = (type: FieldTypeInput): void => {
		if (typeof type === 'string') return;
		if (type.kind === 'struct') collect(type.fields);
		else if (type.kind === 'list') collectType(type.element);
		else if (type.kind === 'map') collectType(type.value);
	};
	collect(schema);
	let last = 0n;
	const nextId = (): bigint => {
		do last += 1n;
		while (given.has(last));
		return last;
	};
	const typeOf = (type: FieldTypeInput): LogicalType => {
		if (typeof type === 'string') return { kind: type };
		switch (type.kind) {
			case 'decimal':
				return { kind: 'decimal', precision: BigInt(type.precision), scale: BigInt(type.scale) };
			case 'fixed':
				return { kind: 'fixed', length: BigInt(type.length) };
			case 'struct':
				return { kind: 'struct', fields: type.fields.map((field) => fieldOf(field, false)) };
			case 'list': {
				const element_id = nextId();
				const element_required = type.required === true;
				return { kind: 'list', element_id, element_required, element: typeOf(type.element) };
			}
			case 'map': {
				const key_id = nextId();
				const key = typeOf(type.key);
				const value_id = nextId();
				const value_required = type.required === true;
				return { kind: 'map', key_id, key, value_id, value_required, value: typeOf(type.value) };
			}
		}
	};
	const fieldOf = (field: FieldInput, top: boolean): LogicalField => {
		const provenance = top ? PROVENANCE_IDS.get(field.name) : undefined;
		const id = field.id === undefined ? (provenance ?? nextId()) : BigInt(field.id);
		const { name, required, type, doc } = field;
		return { id, name, required: required === true, field_type: typeOf(type), doc };
	};
	const fields = schema.map((field) => fieldOf(field, true));
	checkFields(fields, 'schema');
	return fields;
}
