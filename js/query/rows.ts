import type { QueryColumn } from '../core/query.js';
import { setOwn } from '../core/tape.js';
import { isSet, LONG_TEXT, type PlainOptions, plainReader } from './cells.js';
import type { LogicalField } from './schema.js';
import { decimalText } from './text.js';

type Row = Record<string, unknown>;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * A page as plain objects (`plainReader` says what stands for what). Spreading a template gives each its final shape at
 * once; then one column after the other is filled, by a loop that knows its kind: no call a cell.
 */
export function plainRows(
	fields: readonly LogicalField[],
	columns: readonly QueryColumn[],
	count: number,
	as: PlainOptions = {},
): Row[] {
	const template: Row = {};
	for (const { name } of fields) setOwn(template, name, null);
	const rows: Row[] = new Array(count);
	for (let row = 0; row < count; row++) rows[row] = { ...template };
	fields.forEach((field, index) => {
		const values = plainValues(columns[index]!, field, count, as);
		if (field.name === '__proto__')
			for (let row = 0; row < count; row++) setOwn(rows[row]!, field.name, values[row]);
		else fill(rows, field.name, values, columns[index]!.validity);
	});
	return rows;
}

/** Rows hold null already. */
function fill(rows: Row[], name: string, values: ArrayLike<unknown>, validity: Uint8Array | undefined): void {
	const count = rows.length;
	if (validity === undefined) for (let row = 0; row < count; row++) rows[row]![name] = values[row];
	else for (let row = 0; row < count; row++) if (isSet(validity, row)) rows[row]![name] = values[row];
}

/** One value a slot; what stands in a null's slot means nothing, but is null where the name needs it. */
function plainValues(
	column: QueryColumn,
	{ name, fieldType }: LogicalField,
	count: number,
	as: PlainOptions,
): ArrayLike<unknown> {
	const read = plainReader(column, fieldType, as);
	if (name === '__proto__') return Array.from({ length: count }, (_, row) => read(row));
	switch (fieldType.kind) {
		case 'int':
		case 'float':
		case 'double':
		case 'long':
			return column.values as unknown as ArrayLike<unknown>;
		case 'date':
		case 'time_micros':
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			if (as.temporal === undefined) return column.values as unknown as ArrayLike<unknown>;
			break;
		case 'string':
			if (column.values.length <= LONG_TEXT * count) return texts(column, count);
			break;
		case 'uuid':
			return uuids(column.values as Uint8Array, count);
		case 'decimal':
			if (as.decimal === undefined) return decimals(column, fieldType.scale, count);
			break;
	}
	const values: unknown[] = new Array(count);
	// A null's slot holds no value to make anything of.
	for (let row = 0; row < count; row++) values[row] = read(row);
	return values;
}

function texts(column: QueryColumn, count: number): string[] {
	const all = decoder.decode(column.values as Uint8Array);
	const utf16 = column.utf16!;
	const values: string[] = new Array(count);
	for (let row = 0; row < count; row++) values[row] = all.slice(utf16[row]!, utf16[row + 1]!);
	return values;
}

const UUID_TEXT = 36;
const DIGITS = new TextEncoder().encode('0123456789abcdef');

/** All texts in one block of ASCII, which is decoded once. */
function uuids(bytes: Uint8Array, count: number): string[] {
	const block = new Uint8Array(count * UUID_TEXT);
	let to = 0;
	for (let at = 0; at < count * 16; at++) {
		const byte = bytes[at]!;
		block[to] = DIGITS[byte >>> 4]!;
		block[to + 1] = DIGITS[byte & 15]!;
		to += 2;
		const part = at & 15;
		if (part === 3 || part === 5 || part === 7 || part === 9) block[to++] = 0x2d;
	}
	const all = decoder.decode(block);
	const values: string[] = new Array(count);
	for (let row = 0; row < count; row++) values[row] = all.slice(row * UUID_TEXT, (row + 1) * UUID_TEXT);
	return values;
}

/** 10^15 is the largest power of ten that numbers can tell from its neighbours with room for as much again. */
const NUMBER_SCALE = 15;

/** Of a value of at most 53 bits, which most are, whole and fraction are exact numbers; of any other, bigints. */
function decimals(column: QueryColumn, scale: number, count: number): string[] {
	const { buffer, byteOffset, byteLength } = column.values;
	const words = new Int32Array(buffer as ArrayBuffer, byteOffset, byteLength >>> 2);
	const wide = new BigInt64Array(buffer as ArrayBuffer, byteOffset, byteLength >>> 3);
	const one = 10 ** scale;
	const values: string[] = new Array(count);
	for (let row = 0; row < count; row++) {
		const high = words[row * 4 + 1]!;
		const sign = high >> 31;
		if (
			scale <= NUMBER_SCALE &&
			words[row * 4 + 2] === sign &&
			words[row * 4 + 3] === sign &&
			high >= -0x10_0000 &&
			high < 0x10_0000
		) {
			const value = high * 2 ** 32 + (words[row * 4]! >>> 0);
			const size = Math.abs(value);
			const whole = Math.floor(size / one);
			const text = scale === 0 ? `${whole}` : `${whole}.${`${one + (size - whole * one)}`.slice(1)}`;
			values[row] = value < 0 ? `-${text}` : text;
		} else {
			const unscaled = (wide[row * 2 + 1]! << 64n) | BigInt.asUintN(64, wide[row * 2]!);
			values[row] = decimalText(unscaled, scale);
		}
	}
	return values;
}
