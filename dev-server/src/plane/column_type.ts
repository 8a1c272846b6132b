/** Logical types as DuckDB types, and their values both ways. Every kind has a DuckDB type that holds it exactly. */
import {
	BIGINT,
	BLOB,
	BOOLEAN,
	blobValue,
	DATE,
	DECIMAL,
	DOUBLE,
	DuckDBDateValue,
	DuckDBDecimalValue,
	DuckDBTimestampTZValue,
	DuckDBTimestampValue,
	DuckDBTimeValue,
	type DuckDBType,
	DuckDBUUIDValue,
	type DuckDBValue,
	FLOAT,
	INTEGER,
	LIST,
	listValue,
	MAP,
	mapValue,
	STRUCT,
	structValue,
	TIME,
	TIMESTAMP,
	TIMESTAMPTZ,
	UUID,
	VARCHAR,
} from '@duckdb/node-api';
import type { LogicalField, LogicalType, SimpleKind } from './wire/logical_type.js';
import { canonicalKey, minimalSigned, type TypedValue, unscaledInteger } from './wire/typed_value.js';

/** The database holds another type than the field says: the table changed under the query. */
export class SchemaMoved extends Error {}

/** A result that the contract's values cannot carry. */
export class UncarriedValue extends Error {}

const SIMPLE: Record<SimpleKind, DuckDBType> = {
	boolean: BOOLEAN,
	int: INTEGER,
	long: BIGINT,
	float: FLOAT,
	double: DOUBLE,
	date: DATE,
	time_micros: TIME,
	timestamp_micros: TIMESTAMP,
	timestamp_tz_micros: TIMESTAMPTZ,
	string: VARCHAR,
	uuid: UUID,
	binary: BLOB,
};

/** Structs need a member in the database; this one stands in an empty one. */
const NO_FIELDS = '_';

/** Members carry ids, not names: names of the database ignore case. */
export function memberName(field: LogicalField): string {
	return `f${field.id}`;
}

export function duckType(type: LogicalType): DuckDBType {
	switch (type.kind) {
		case 'decimal':
			return DECIMAL(Number(type.precision), Number(type.scale));
		case 'fixed':
			return BLOB;
		case 'struct':
			return STRUCT(
				type.fields.length === 0
					? { [NO_FIELDS]: BOOLEAN }
					: Object.fromEntries(type.fields.map((field) => [memberName(field), duckType(field.field_type)])),
			);
		case 'list':
			return LIST(duckType(type.element));
		case 'map':
			return MAP(duckType(type.key), duckType(type.value));
		default:
			return SIMPLE[type.kind];
	}
}

/** The type as SQL text, made of the plane's own names only. */
export function sqlType(type: LogicalType): string {
	switch (type.kind) {
		case 'struct': {
			const members = type.fields.map((field) => `${memberName(field)} ${sqlType(field.field_type)}`);
			return `STRUCT(${members.length === 0 ? `${NO_FIELDS} BOOLEAN` : members.join(', ')})`;
		}
		case 'list':
			return `${sqlType(type.element)}[]`;
		case 'map':
			return `MAP(${sqlType(type.key)}, ${sqlType(type.value)})`;
		case 'timestamp_tz_micros':
			return 'TIMESTAMPTZ';
		default:
			return duckType(type).toString();
	}
}

/** A value that has passed `checkValue` for the type. */
export function toDuck(value: TypedValue, type: LogicalType): DuckDBValue {
	switch (value.kind) {
		case 'null':
			return null;
		case 'boolean':
		case 'string':
		case 'long':
			return value.value;
		case 'float':
		case 'double':
			return value.value;
		case 'int':
			return Number(value.value);
		case 'date':
			return new DuckDBDateValue(Number(value.value));
		case 'time_micros':
			return new DuckDBTimeValue(value.value);
		case 'timestamp_micros':
			return new DuckDBTimestampValue(value.value);
		case 'timestamp_tz_micros':
			return new DuckDBTimestampTZValue(value.value);
		case 'decimal': {
			const { unscaled, precision, scale } = value.value;
			return new DuckDBDecimalValue(unscaledInteger(unscaled), Number(precision), Number(scale));
		}
		case 'uuid':
			return DuckDBUUIDValue.fromUint128(BigInt(`0x${Buffer.from(value.value).toString('hex')}`));
		case 'fixed':
		case 'binary':
			return blobValue(value.value);
		case 'list': {
			const { element } = type as LogicalType & { kind: 'list' };
			return listValue(value.value.map((item) => toDuck(item, element)));
		}
		case 'struct': {
			const { fields } = type as LogicalType & { kind: 'struct' };
			if (fields.length === 0) return structValue({ [NO_FIELDS]: null });
			return structValue(
				Object.fromEntries(
					fields.map((f, i) => [memberName(f), toDuck(value.value[i]!.value, f.field_type)]),
				),
			);
		}
		case 'map': {
			const map = type as LogicalType & { kind: 'map' };
			return mapValue(
				value.value.map((entry) => ({
					key: toDuck(entry.key, map.key),
					value: toDuck(entry.value, map.value),
				})),
			);
		}
	}
}

type Reader = (value: NonNullable<DuckDBValue>) => TypedValue | undefined;

function finite(kind: 'float' | 'double', value: unknown): TypedValue | undefined {
	if (typeof value !== 'number') return undefined;
	if (!Number.isFinite(value)) throw new UncarriedValue('the result is not a finite number');
	// Computed zeros may be negative, which the contract's floats are not.
	return { kind, value: value === 0 ? 0 : value };
}

const READERS: Record<SimpleKind, Reader> = {
	boolean: (v) => (typeof v === 'boolean' ? { kind: 'boolean', value: v } : undefined),
	int: (v) => (typeof v === 'number' ? { kind: 'int', value: BigInt(v) } : undefined),
	long: (v) => (typeof v === 'bigint' ? { kind: 'long', value: v } : undefined),
	float: (v) => finite('float', v),
	double: (v) => finite('double', v),
	date: (v) => (v instanceof DuckDBDateValue ? { kind: 'date', value: BigInt(v.days) } : undefined),
	time_micros: (v) => (v instanceof DuckDBTimeValue ? { kind: 'time_micros', value: v.micros } : undefined),
	timestamp_micros: (v) =>
		v instanceof DuckDBTimestampValue ? { kind: 'timestamp_micros', value: v.micros } : undefined,
	timestamp_tz_micros: (v) =>
		v instanceof DuckDBTimestampTZValue ? { kind: 'timestamp_tz_micros', value: v.micros } : undefined,
	string: (v) => (typeof v === 'string' ? { kind: 'string', value: v } : undefined),
	uuid: (v) => (v instanceof DuckDBUUIDValue ? { kind: 'uuid', value: uuidBytes(v) } : undefined),
	binary: (v) => (isBlob(v) ? { kind: 'binary', value: new Uint8Array(v.bytes) } : undefined),
};

function isBlob(value: NonNullable<DuckDBValue>): value is { bytes: Uint8Array } & typeof value {
	return typeof value === 'object' && 'bytes' in value;
}

function uuidBytes(value: DuckDBUUIDValue): Uint8Array {
	return new Uint8Array(Buffer.from(value.toUint128().toString(16).padStart(32, '0'), 'hex'));
}

const NULL: TypedValue = { kind: 'null' };

export function fromDuck(value: DuckDBValue | undefined, type: LogicalType): TypedValue {
	if (value === null || value === undefined) return NULL;
	const typed = read(value, type);
	if (typed === undefined) throw new SchemaMoved(`${typeof value} for ${type.kind}`);
	return typed;
}

function read(value: NonNullable<DuckDBValue>, type: LogicalType): TypedValue | undefined {
	switch (type.kind) {
		case 'decimal': {
			if (!(value instanceof DuckDBDecimalValue) || BigInt(value.scale) !== type.scale) return undefined;
			const { precision, scale } = type;
			return { kind: 'decimal', value: { unscaled: minimalSigned(value.value), precision, scale } };
		}
		case 'fixed':
			return isBlob(value) ? { kind: 'fixed', value: new Uint8Array(value.bytes) } : undefined;
		case 'list':
			if (typeof value !== 'object' || !('items' in value)) return undefined;
			return { kind: 'list', value: value.items.map((item) => fromDuck(item, type.element)) };
		case 'struct': {
			if (typeof value !== 'object' || !('entries' in value) || Array.isArray(value.entries))
				return undefined;
			const members = value.entries as Readonly<Record<string, DuckDBValue>>;
			return {
				kind: 'struct',
				value: type.fields.map((field) => ({
					field_id: field.id,
					value: fromDuck(members[memberName(field)], field.field_type),
				})),
			};
		}
		case 'map': {
			if (typeof value !== 'object' || !('entries' in value) || !Array.isArray(value.entries))
				return undefined;
			const entries = value.entries.map((entry) => ({
				key: fromDuck(entry.key, type.key),
				value: fromDuck(entry.value, type.value),
			}));
			return { kind: 'map', value: sortEntries(entries) };
		}
		default:
			return READERS[type.kind](value);
	}
}

/** The database keeps a map's entries in any order. */
function sortEntries<T extends { key: TypedValue }>(entries: T[]): T[] {
	return entries
		.map((entry) => ({ entry, key: canonicalKey(entry.key, 'map') }))
		.sort((a, b) => Buffer.compare(a.key, b.key))
		.map(({ entry }) => entry);
}

/** Bytes that a value takes in a reply, roughly and never more than in truth by much. */
export function sizeOf(value: TypedValue): number {
	switch (value.kind) {
		case 'null':
		case 'boolean':
			return 12;
		case 'string':
			return 22 + Buffer.byteLength(value.value, 'utf8');
		case 'uuid':
		case 'fixed':
		case 'binary':
			return 20 + value.value.length;
		case 'list':
			return value.value.reduce((sum, item) => sum + sizeOf(item), 20);
		case 'struct':
			return value.value.reduce((sum, entry) => sum + sizeOf(entry.value) + 16, 20);
		case 'map':
			return value.value.reduce((sum, entry) => sum + sizeOf(entry.key) + sizeOf(entry.value) + 12, 20);
		default:
			return 20;
	}
}
