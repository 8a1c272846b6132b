import {
	Binary,
	Bool,
	type Data,
	type DataType,
	DateDay,
	Decimal,
	Field,
	FixedSizeBinary,
	Float32,
	Float64,
	Int32,
	Int64,
	List,
	Map_,
	makeData,
	Struct,
	TimeMicrosecond,
	TimestampMicrosecond,
	Utf8,
} from 'apache-arrow';
import type { QueryColumn } from '../core/query.js';
import type { LogicalField, LogicalType } from '../query/schema.js';
import { spread } from './spread.js';

const UUID_LENGTH = 16;

/** The field's number goes along under the name that Parquet writers look for. */
export function arrowField({ id, name, required, fieldType }: LogicalField): Field {
	return arrowMember(name, fieldType, required, id);
}

function arrowMember(name: string, type: LogicalType, required: boolean, id: number): Field {
	const metadata = new Map([['PARQUET:field_id', String(id)]]);
	if (type.kind === 'uuid')
		metadata.set('ARROW:extension:name', 'arrow.uuid').set('ARROW:extension:metadata', '');
	return new Field(name, arrowType(type), !required, metadata);
}

function arrowType(type: LogicalType): DataType {
	switch (type.kind) {
		case 'boolean':
			return new Bool();
		case 'int':
			return new Int32();
		case 'long':
			return new Int64();
		case 'float':
			return new Float32();
		case 'double':
			return new Float64();
		case 'decimal':
			return new Decimal(type.scale, type.precision, 128);
		case 'date':
			return new DateDay();
		case 'time_micros':
			return new TimeMicrosecond();
		case 'timestamp_micros':
			return new TimestampMicrosecond();
		case 'timestamp_tz_micros':
			return new TimestampMicrosecond('UTC');
		case 'string':
			return new Utf8();
		case 'uuid':
			return new FixedSizeBinary(UUID_LENGTH);
		case 'fixed':
			return new FixedSizeBinary(type.length);
		case 'binary':
			return new Binary();
		case 'struct':
			return new Struct(type.fields.map(arrowField));
		case 'list':
			return new List(arrowMember('element', type.element, type.elementRequired, type.elementId));
		case 'map':
			return new Map_(new Field('entries', mapEntries(type) as never, false), false);
	}
}

function mapEntries(type: Extract<LogicalType, { kind: 'map' }>): Struct {
	return new Struct([
		arrowMember('key', type.key, true, type.keyId),
		arrowMember('value', type.value, type.valueRequired, type.valueId),
	]);
}

/** A column under Arrow's own layout, sharing its memory wherever the two are the same. */
export function arrowData(column: QueryColumn, logical: LogicalType): Data {
	const type = arrowType(logical);
	const { length, nullCount, validity } = column;
	const base = { type, length, nullCount, ...(validity === undefined ? {} : { nullBitmap: validity }) };
	return makeData({ ...base, ...buffers(column, logical) } as never);
}

function buffers(column: QueryColumn, logical: LogicalType): object {
	switch (logical.kind) {
		case 'decimal':
			return { data: words(column.values) };
		case 'string':
		case 'binary':
			return { valueOffsets: signed(column), data: column.values };
		case 'fixed':
			return { data: fixedBytes(column, logical.length) };
		case 'struct':
			return {
				children: logical.fields.map((field, index) =>
					arrowData(spread(column, column.children[index]!, field.required), field.fieldType),
				),
			};
		case 'list':
			return { valueOffsets: signed(column), child: arrowData(column.children[0]!, logical.element) };
		case 'map': {
			const [key, value] = column.children as readonly [QueryColumn, QueryColumn];
			const child = makeData({
				type: mapEntries(logical),
				length: key.length,
				nullCount: 0,
				children: [arrowData(key, logical.key), arrowData(value, logical.value)],
			});
			return { valueOffsets: signed(column), child };
		}
		default:
			return { data: column.values };
	}
}

function words({ buffer, byteOffset, byteLength }: QueryColumn['values']): Uint32Array {
	return new Uint32Array(buffer as ArrayBuffer, byteOffset, byteLength >>> 2);
}

/** No reply is long enough for an offset to reach the sign. */
function signed({ offsets }: QueryColumn): Int32Array {
	const { buffer, byteOffset, length } = offsets!;
	return new Int32Array(buffer as ArrayBuffer, byteOffset, length);
}

/** Arrow keeps room for a null of fixed length, a column of ours does not. */
function fixedBytes(column: QueryColumn, size: number): Uint8Array {
	const bytes = column.values as Uint8Array;
	const { length } = column;
	if (bytes.length === length * size) return bytes;
	const offsets = column.offsets!;
	const spaced = new Uint8Array(length * size);
	for (let slot = 0; slot < length; slot++)
		spaced.set(bytes.subarray(offsets[slot]!, offsets[slot + 1]!), slot * size);
	return spaced;
}
