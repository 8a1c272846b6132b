import type { QueryColumn } from '../core/query.js';
import { isSet, LONG_TEXT, type PlainOptions, plainReader } from './cells.js';
import type { LogicalType } from './schema.js';
import { decimalText } from './text.js';

// All texts of a column are made in one block of bytes, which is decoded once and cut.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** A column's plain values, null for null, by a loop that knows the kind. */
export function plainValues(
	column: QueryColumn,
	type: LogicalType,
	count: number,
	as: PlainOptions,
): ArrayLike<unknown> {
	switch (type.kind) {
		case 'boolean':
			return orNull(booleans(column.values as Uint8Array, count), column);
		case 'int':
		case 'float':
		case 'double':
		case 'long':
			return numbers(column);
		case 'date':
		case 'time_micros':
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			if (as.temporal !== undefined) break;
			return numbers(column);
		case 'string':
			if (column.values.length > LONG_TEXT * count) break;
			return orNull(texts(column, count), column);
		case 'uuid':
			return orNull(uuids(column.values as Uint8Array, count), column);
		case 'decimal':
			if (as.decimal !== undefined) break;
			return orNull(decimals(column, type.scale, count), column);
	}
	const read = plainReader(column, type, as);
	const values: unknown[] = new Array(count);
	for (let row = 0; row < count; row++) values[row] = read(row);
	return values;
}

/** Puts null where there is no value: what stands in its slot means nothing. */
function orNull(values: unknown[], { validity }: QueryColumn): unknown[] {
	if (validity === undefined) return values;
	for (let row = 0; row < values.length; row++) if (!isSet(validity, row)) values[row] = null;
	return values;
}

function numbers(column: QueryColumn): ArrayLike<unknown> {
	const values = column.values as unknown as ArrayLike<unknown>;
	return column.validity === undefined ? values : orNull(Array.from(values), column);
}

function booleans(bits: Uint8Array, count: number): boolean[] {
	const values: boolean[] = new Array(count);
	for (let row = 0; row < count; row++) values[row] = isSet(bits, row);
	return values;
}

function texts(column: QueryColumn, count: number): string[] {
	const all = decoder.decode(column.values as Uint8Array);
	const utf16 = column.utf16!;
	const values: string[] = new Array(count);
	let from = 0;
	for (let row = 0; row < count; row++) {
		const to = utf16[row + 1]!;
		values[row] = all.slice(from, to);
		from = to;
	}
	return values;
}

const UUID_TEXT = 36;
/** Two digits a byte, as DataView writes them. */
const HEX = Uint16Array.from({ length: 256 }, (_, byte) => {
	const [high, low] = byte.toString(16).padStart(2, '0');
	return (high!.charCodeAt(0) << 8) | low!.charCodeAt(0);
});
const HYPHEN = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;

function uuids(bytes: Uint8Array, count: number): string[] {
	const block = new Uint8Array(count * UUID_TEXT);
	const view = new DataView(block.buffer);
	// In one run: a loop over the parts, or a function for them, takes four times as long.
	for (let at = 0, to = 0; to < block.length; at += 16, to += UUID_TEXT) {
		view.setUint16(to, HEX[bytes[at]!]!);
		view.setUint16(to + 2, HEX[bytes[at + 1]!]!);
		view.setUint16(to + 4, HEX[bytes[at + 2]!]!);
		view.setUint16(to + 6, HEX[bytes[at + 3]!]!);
		block[to + 8] = HYPHEN;
		view.setUint16(to + 9, HEX[bytes[at + 4]!]!);
		view.setUint16(to + 11, HEX[bytes[at + 5]!]!);
		block[to + 13] = HYPHEN;
		view.setUint16(to + 14, HEX[bytes[at + 6]!]!);
		view.setUint16(to + 16, HEX[bytes[at + 7]!]!);
		block[to + 18] = HYPHEN;
		view.setUint16(to + 19, HEX[bytes[at + 8]!]!);
		view.setUint16(to + 21, HEX[bytes[at + 9]!]!);
		block[to + 23] = HYPHEN;
		view.setUint16(to + 24, HEX[bytes[at + 10]!]!);
		view.setUint16(to + 26, HEX[bytes[at + 11]!]!);
		view.setUint16(to + 28, HEX[bytes[at + 12]!]!);
		view.setUint16(to + 30, HEX[bytes[at + 13]!]!);
		view.setUint16(to + 32, HEX[bytes[at + 14]!]!);
		view.setUint16(to + 34, HEX[bytes[at + 15]!]!);
	}
	const all = decoder.decode(block);
	const values: string[] = new Array(count);
	for (let row = 0; row < count; row++) values[row] = all.slice(row * UUID_TEXT, (row + 1) * UUID_TEXT);
	return values;
}

/** 10^15 is the largest power of ten that numbers can tell from its neighbours with room for as much again. */
const NUMBER_SCALE = 15;
/** Sign, point, and the 16 digits of 2^52, or a nought and the scale. */
const NUMBER_TEXT = 18;

/** Of a value of at most 52 bits, which most are, the digits are made of numbers; of any other, of a bigint. */
function decimals(column: QueryColumn, scale: number, count: number): string[] {
	const { buffer, byteOffset, byteLength } = column.values;
	const words = new Int32Array(buffer as ArrayBuffer, byteOffset, byteLength >>> 2);
	const block = new Uint8Array(count * NUMBER_TEXT);
	const ends = new Uint32Array(count);
	let used = 0;
	for (let row = 0; row < count; row++) {
		const high = words[row * 4 + 1]!;
		const sign = high >> 31;
		if (
			scale <= NUMBER_SCALE &&
			words[row * 4 + 2] === sign &&
			words[row * 4 + 3] === sign &&
			high >= -0x10_0000 &&
			high < 0x10_0000
		)
			used = writeDecimal(block, used, high * 2 ** 32 + (words[row * 4]! >>> 0), scale);
		ends[row] = used;
	}
	const all = decoder.decode(block.subarray(0, used));
	const values: string[] = new Array(count);
	let from = 0;
	for (let row = 0; row < count; row++) {
		const to = ends[row]!;
		values[row] = to === from ? wideDecimal(column, row, scale) : all.slice(from, to);
		from = to;
	}
	return values;
}

const BILLION = 1_000_000_000;
const POWERS = Array.from({ length: 18 }, (_, digits) => 10 ** digits);

/** Gives the place behind the text. */
function writeDecimal(block: Uint8Array, from: number, value: number, scale: number): number {
	const size = value < 0 ? -value : value;
	let digits = scale + 1;
	while (size >= POWERS[digits]!) digits++;
	const end = from + (value < 0 ? 1 : 0) + digits + (scale > 0 ? 1 : 0);
	// Nine digits at a time are whole numbers of 32 bits.
	const high = size < BILLION ? 0 : Math.floor(size / BILLION);
	let low = (size - high * BILLION) | 0;
	let to = end;
	for (let digit = 0; digit < digits; digit++) {
		if (digit === 9) low = high;
		if (digit === scale && scale > 0) block[--to] = POINT;
		const tens = (low / 10) | 0;
		block[--to] = ZERO + low - tens * 10;
		low = tens;
	}
	if (value < 0) block[from] = HYPHEN;
	return end;
}

function wideDecimal({ values }: QueryColumn, row: number, scale: number): string {
	const wide = new BigInt64Array(values.buffer as ArrayBuffer, values.byteOffset + row * 16, 2);
	return decimalText((wide[1]! << 64n) | BigInt.asUintN(64, wide[0]!), scale);
}
