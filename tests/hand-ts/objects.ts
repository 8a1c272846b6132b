import type { HandPage } from './query-reply.js';
import type { TypedColumn } from './typed-column.js';

type Row = Record<string, unknown>;

/** The page as plain objects, of the same values as the client's: text for uuid and decimal. */
export function handObjects(page: HandPage): Row[] {
	const template: Row = {};
	for (const { field } of page.columns) define(template, field.name, null);
	const objects: Row[] = new Array(page.rows);
	for (let row = 0; row < page.rows; row++) objects[row] = { ...template };
	for (const column of page.columns) {
		// As an own key: a name that the engine has met is found faster than its text.
		const name = Object.keys(define({}, column.field.name, null))[0]!;
		const values = plainValues(column);
		for (let row = 0; row < page.rows; row++) objects[row]![name] = values[row];
	}
	return objects;
}

function define(object: Row, name: string, value: unknown): Row {
	return Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function plainValues(column: TypedColumn): ArrayLike<unknown> {
	const { length, nullCount } = column;
	const make = (value: (slot: number) => unknown) => {
		const values: unknown[] = new Array(length);
		for (let slot = 0; slot < length; slot++)
			values[slot] = nullCount > 0 && column.isNull(slot) ? null : value(slot);
		return values;
	};
	switch (column.field.kind) {
		case 'long':
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			return nullCount === 0 ? column.longs : make((slot) => column.longs[slot]);
		case 'double':
			return nullCount === 0 ? column.doubles : make((slot) => column.doubles[slot]);
		case 'int':
		case 'date':
			return nullCount === 0 ? column.words : make((slot) => column.words[slot]);
		case 'string': {
			const { utf16, offsets } = column;
			const all = decoder.decode(column.bytes.subarray(0, offsets[length]));
			return make((slot) => all.slice(utf16[slot], utf16[slot + 1]));
		}
		case 'uuid':
			return make((slot) => uuid(column.bytes, slot * 16));
		case 'decimal': {
			const { scale } = column.field;
			const one = 10 ** scale;
			return make((slot) => {
				const high = column.words[slot * 4 + 1]!;
				const sign = high >> 31;
				const isShort = column.words[slot * 4 + 2] === sign && column.words[slot * 4 + 3] === sign;
				return isShort && scale <= 15 && high >= -0x10_0000 && high < 0x10_0000
					? shortDecimal(high * 2 ** 32 + (column.words[slot * 4]! >>> 0), scale, one)
					: wideDecimal(column.unscaled(slot), scale);
			});
		}
		default:
			return make((slot) => column.at(slot));
	}
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const HIGH = Uint8Array.from({ length: 256 }, (_, byte) => '0123456789abcdef'.charCodeAt(byte >>> 4));
const LOW = Uint8Array.from({ length: 256 }, (_, byte) => '0123456789abcdef'.charCodeAt(byte & 15));
const HYPHEN = 0x2d;

function uuid(b: Uint8Array, at: number): string {
	// biome-ignore format: one part of the text a line
	return String.fromCharCode(
		HIGH[b[at]!]!, LOW[b[at]!]!, HIGH[b[at + 1]!]!, LOW[b[at + 1]!]!, HIGH[b[at + 2]!]!, LOW[b[at + 2]!]!, HIGH[b[at + 3]!]!, LOW[b[at + 3]!]!,
		HYPHEN, HIGH[b[at + 4]!]!, LOW[b[at + 4]!]!, HIGH[b[at + 5]!]!, LOW[b[at + 5]!]!,
		HYPHEN, HIGH[b[at + 6]!]!, LOW[b[at + 6]!]!, HIGH[b[at + 7]!]!, LOW[b[at + 7]!]!,
		HYPHEN, HIGH[b[at + 8]!]!, LOW[b[at + 8]!]!, HIGH[b[at + 9]!]!, LOW[b[at + 9]!]!,
		HYPHEN, HIGH[b[at + 10]!]!, LOW[b[at + 10]!]!, HIGH[b[at + 11]!]!, LOW[b[at + 11]!]!, HIGH[b[at + 12]!]!, LOW[b[at + 12]!]!, HIGH[b[at + 13]!]!, LOW[b[at + 13]!]!, HIGH[b[at + 14]!]!, LOW[b[at + 14]!]!, HIGH[b[at + 15]!]!, LOW[b[at + 15]!]!,
	);
}

function shortDecimal(value: number, scale: number, one: number): string {
	const size = Math.abs(value);
	const whole = Math.floor(size / one);
	const text = scale === 0 ? `${whole}` : `${whole}.${`${one + (size - whole * one)}`.slice(1)}`;
	return value < 0 ? `-${text}` : text;
}

function wideDecimal(unscaled: bigint, scale: number): string {
	const digits = `${unscaled < 0n ? -unscaled : unscaled}`.padStart(scale + 1, '0');
	const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
	return unscaled < 0n ? `-${text}` : text;
}
