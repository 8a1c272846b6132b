/**
 * How a value becomes a cell.
 *
 * A field with a declared type (`field_type`) takes only values of that type; another value counts as absent.
 * A field without one takes its column's type from its values: boolean, long (an integer that fits 64 bits), double
 * (a number with fraction or exponent), string (text; also objects, arrays and wider integers, as their JSON text).
 * When a later value does not fit, the column widens: long to double if every stored value stays exact, else to
 * string. Widening changes no stored value, only its form.
 */
import type { FieldType } from './control_model.js';
import type { ColumnType } from './index_model.js';
import { type JsonValue, jsonText } from './json_value.js';

export type Cell = null | boolean | bigint | number | string;

const I64_MIN = -0x8000_0000_0000_0000n;
const I64_MAX = 0x7fff_ffff_ffff_ffffn;

export const DECLARED: Record<FieldType, ColumnType> = {
	text: 'string',
	int: 'long',
	float: 'double',
	bool: 'boolean',
};

function fitsLong(value: bigint): boolean {
	return value >= I64_MIN && value <= I64_MAX;
}

export function exactDouble(value: bigint): boolean {
	return BigInt(Number(value)) === value;
}

/** The narrowest type that holds the value; null has none. */
export function typeOfValue(value: JsonValue): ColumnType {
	switch (typeof value) {
		case 'bigint':
			return fitsLong(value) ? 'long' : 'string';
		case 'number':
			return Number.isFinite(value) ? 'double' : 'unknown';
		case 'boolean':
			return 'boolean';
		case 'string':
			return 'string';
		default:
			return value === null ? 'unknown' : 'string';
	}
}

/** The type that holds both a column of type `column` and `value`, where stored longs are exact as doubles. */
export function widen(column: ColumnType, value: JsonValue): ColumnType {
	const type = typeOfValue(value);
	if (type === 'unknown' || type === column) return column;
	if (column === 'unknown') return type;
	if (column === 'long' && type === 'double') return 'double';
	if (column === 'double' && type === 'long') return exactDouble(value as bigint) ? 'double' : 'string';
	return 'string';
}

/** The cell for a column, or null where the value has no place in it. */
export function toCell(value: JsonValue | undefined, type: ColumnType): Cell {
	if (value === undefined || value === null) return null;
	switch (type) {
		case 'string':
		case 'unknown':
			return typeof value === 'string' ? value : jsonText(value);
		case 'boolean':
			return typeof value === 'boolean' ? value : null;
		case 'long':
			if (typeof value === 'bigint') return fitsLong(value) ? value : null;
			return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : null;
		case 'double':
			if (typeof value === 'bigint') value = Number(value);
			if (typeof value !== 'number' || !Number.isFinite(value)) return null;
			return value === 0 ? 0 : value;
	}
}

/** A header carries text only: read it as the column's type where it says one, else keep the text. */
export function fromHeader(text: string, type: ColumnType): JsonValue {
	if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
	if (type === 'long' && /^-?\d{1,19}$/.test(text)) return BigInt(text);
	if (type === 'double' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
	return text;
}
