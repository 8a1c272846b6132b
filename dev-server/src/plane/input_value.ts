/** Values given to the server's own API, as typed values of their field; every rule of a value is checked on the way. */
import type { RowInput, ValueInput } from '../contract.js';
import type { LogicalField, LogicalType } from './wire/logical_type.js';
import { utf8Length } from './wire/names.js';
import { invalid } from './wire/refusal.js';
import {
	canonicalKey,
	I32,
	I64,
	MAX_ITEMS,
	MAX_VALUE_BYTES,
	MICROS_PER_DAY,
	minimalSigned,
	type TypedValue,
} from './wire/typed_value.js';

const NULL: TypedValue = { kind: 'null' };

/** A row's values in field order. */
export function typedRow(row: RowInput, fields: readonly LogicalField[], path: string): TypedValue[] {
	if (Array.isArray(row)) {
		const values = row as readonly ValueInput[];
		if (values.length !== fields.length) invalid('row_width', path);
		return fields.map((field, i) => fieldValue(values[i], field, path));
	}
	const object = row as { readonly [name: string]: ValueInput };
	return fields.map((field) =>
		fieldValue(Object.hasOwn(object, field.name) ? object[field.name] : null, field, path),
	);
}

function fieldValue(input: ValueInput, field: LogicalField, path: string): TypedValue {
	return typedValue(input, field.field_type, field.required, `${path}.${field.name}`);
}

function mismatch(type: LogicalType, path: string): never {
	return invalid('type_mismatch', path, `not a value for ${type.kind}`);
}

export function typedValue(
	input: ValueInput,
	type: LogicalType,
	required: boolean,
	path: string,
): TypedValue {
	if (input === null || input === undefined) return required ? invalid('required_null', path) : NULL;
	const { kind } = type;
	switch (kind) {
		case 'boolean':
			return typeof input === 'boolean' ? { kind, value: input } : mismatch(type, path);
		case 'int':
			return { kind, value: integer(input, I32, type, path) };
		case 'long':
			return { kind, value: integer(input, I64, type, path) };
		case 'float':
		case 'double':
			return { kind, value: float(input, type, path) };
		case 'date':
			if (input instanceof Date) return { kind, value: BigInt(Math.floor(input.getTime() / 86_400_000)) };
			return { kind, value: integer(input, I32, type, path) };
		case 'time_micros': {
			const micros = integer(input, I64, type, path);
			if (micros < 0n || micros >= MICROS_PER_DAY) invalid('time_out_of_range', path);
			return { kind, value: micros };
		}
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			if (input instanceof Date) return { kind, value: BigInt(input.getTime()) * 1000n };
			return { kind, value: integer(input, I64, type, path) };
		case 'string':
			if (typeof input !== 'string') return mismatch(type, path);
			if (utf8Length(input) > MAX_VALUE_BYTES) invalid('value_too_large', path);
			// A lone half of a pair has no form in UTF-8.
			if (/[\ud800-\udfff]/u.test(input)) invalid('invalid_utf8', path);
			return { kind, value: input };
		case 'uuid':
			return { kind, value: uuid(input, type, path) };
		case 'fixed':
			if (!(input instanceof Uint8Array)) return mismatch(type, path);
			if (BigInt(input.length) !== type.length) invalid('fixed_value_length', path);
			return { kind, value: input };
		case 'binary':
			if (!(input instanceof Uint8Array)) return mismatch(type, path);
			if (input.length > MAX_VALUE_BYTES) invalid('value_too_large', path);
			return { kind, value: input };
		case 'decimal':
			return { kind, value: decimal(input, type, path) };
		case 'list':
			if (!Array.isArray(input)) return mismatch(type, path);
			if (input.length > MAX_ITEMS) invalid('collection_too_large', path);
			return {
				kind,
				value: (input as ValueInput[]).map((item, i) =>
					typedValue(item, type.element, type.element_required, `${path}[${i}]`),
				),
			};
		case 'struct': {
			if (typeof input !== 'object' || input instanceof Map || input instanceof Uint8Array)
				return mismatch(type, path);
			const values = typedRow(input as RowInput, type.fields, path);
			return { kind, value: type.fields.map((field, i) => ({ field_id: field.id, value: values[i]! })) };
		}
		case 'map':
			return { kind, value: entries(input, type, path) };
	}
}

function integer(
	input: ValueInput,
	[low, high]: readonly [bigint, bigint],
	type: LogicalType,
	path: string,
): bigint {
	const whole = typeof input === 'bigint' || (typeof input === 'number' && Number.isSafeInteger(input));
	if (!whole) return mismatch(type, path);
	const value = BigInt(input as bigint | number);
	if (value < low || value > high) invalid('integer_range', path);
	return value;
}

function float(input: ValueInput, type: LogicalType, path: string): number {
	if (typeof input !== 'number') return mismatch(type, path);
	const value = type.kind === 'float' ? Math.fround(input) : input;
	if (!Number.isFinite(value)) invalid('float_not_finite', path);
	if (Object.is(value, -0)) invalid('float_negative_zero', path);
	return value;
}

function uuid(input: ValueInput, type: LogicalType, path: string): Uint8Array {
	if (input instanceof Uint8Array) return input.length === 16 ? input : invalid('uuid_length', path);
	if (typeof input !== 'string') return mismatch(type, path);
	if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(input))
		invalid('uuid_length', path);
	return new Uint8Array(Buffer.from(input.replaceAll('-', ''), 'hex'));
}

function decimal(
	input: ValueInput,
	{ precision, scale }: LogicalType & { kind: 'decimal' },
	path: string,
): { unscaled: Uint8Array; precision: bigint; scale: bigint } {
	const whole = typeof input === 'bigint' || (typeof input === 'number' && Number.isSafeInteger(input));
	const text = whole ? String(input) : typeof input === 'string' ? input : '';
	const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
	if (match === null) return invalid('type_mismatch', path, 'not a value for decimal');
	const fraction = match[3] ?? '';
	const excess = fraction.slice(Number(scale));
	if (/[1-9]/.test(excess)) invalid('decimal_type', path, 'more digits than the scale');
	const digits = BigInt(match[2]! + fraction.slice(0, Number(scale)).padEnd(Number(scale), '0'));
	if (digits.toString().length > Number(precision)) invalid('decimal_digits', path);
	return { unscaled: minimalSigned(match[1] === '-' ? -digits : digits), precision, scale };
}

function entries(
	input: ValueInput,
	type: LogicalType & { kind: 'map' },
	path: string,
): { key: TypedValue; value: TypedValue }[] {
	if (!(input instanceof Map) && !Array.isArray(input)) return mismatch(type, path);
	const pairs = [...(input as Iterable<[ValueInput, ValueInput]>)];
	if (pairs.length > MAX_ITEMS) invalid('collection_too_large', path);
	const sorted = pairs
		.map(([key, value], i) => {
			const at = `${path}[${i}]`;
			const typedKey = typedValue(key, type.key, true, `${at}.key`);
			return {
				bytes: canonicalKey(typedKey, at),
				entry: { key: typedKey, value: typedValue(value, type.value, type.value_required, `${at}.value`) },
			};
		})
		.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
	for (let i = 1; i < sorted.length; i++) {
		if (Buffer.compare(sorted[i - 1]!.bytes, sorted[i]!.bytes) === 0)
			invalid('map_key_order', path, 'a key twice');
	}
	return sorted.map(({ entry }) => entry);
}
