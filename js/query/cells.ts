import type { QueryColumn } from '../core/query.js';
import { setOwn } from '../core/tape.js';
import type { LogicalType } from './schema.js';
import { decimalText, uuidText } from './text.js';
import type { TypedValue } from './value.js';

// One call decodes a whole column; longer texts are decoded one by one, so that a part does not keep it all.
export const LONG_TEXT = 256;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

type Read<T> = (slot: number) => T;

export type TemporalKind = 'date' | 'time_micros' | 'timestamp_micros' | 'timestamp_tz_micros';

/** What stands for decimals and times in plain values, where it is to be something else than text and numbers. */
export interface PlainOptions {
	/** A class made of a decimal's exact text, such as decimal.js or big.js. */
	readonly decimal?: new (
		text: string,
	) => unknown;
	/** Makes a value of days since the epoch (date, a number) or of microseconds (bigint) since midnight or the epoch. */
	readonly temporal?: (value: number | bigint, kind: TemporalKind) => unknown;
}

/** Reads slots of a column as typed values. */
export function typedReader(column: QueryColumn, type: LogicalType): Read<TypedValue> {
	const read = typedPayload(column, type);
	const { validity } = column;
	if (validity === undefined) return read;
	return (slot) => (isSet(validity, slot) ? read(slot) : { kind: 'null' });
}

function typedPayload(column: QueryColumn, type: LogicalType): Read<TypedValue> {
	switch (type.kind) {
		case 'decimal': {
			const { precision, scale } = type;
			const bytes = column.values as Uint8Array;
			return (slot) => ({
				kind: 'decimal',
				value: { unscaled: minimalBytes(bytes.subarray(slot * 16, slot * 16 + 16)), precision, scale },
			});
		}
		case 'struct': {
			const members = type.fields.map((field, index) => ({
				fieldId: field.id,
				read: typedReader(column.children[index]!, field.fieldType),
			}));
			const offsets = column.offsets!;
			return (slot) => ({
				kind: 'struct',
				value: members.map(({ fieldId, read }) => ({ fieldId, value: read(offsets[slot]!) })),
			});
		}
		case 'list': {
			const read = typedReader(column.children[0]!, type.element);
			return (slot) => ({ kind: 'list', value: entries(column, slot, read) });
		}
		case 'map': {
			const key = typedReader(column.children[0]!, type.key);
			const value = typedReader(column.children[1]!, type.value);
			return (slot) => ({
				kind: 'map',
				value: entries(column, slot, (at) => ({ key: key(at), value: value(at) })),
			});
		}
		case 'uuid':
		case 'fixed':
		case 'binary': {
			const { kind } = type;
			const read = bytesReader(column);
			return (slot) => ({ kind, value: read(slot) });
		}
		default: {
			const { kind } = type;
			const read = plainScalar(column) as Read<never>;
			return (slot) => ({ kind, value: read(slot) }) as TypedValue;
		}
	}
}

/**
 * Reads slots as plain values: bigint for 64 bits, text for uuid and (exactly) decimal, bytes, arrays, `Map`s, and
 * objects for structs; null for null.
 */
export function plainReader(column: QueryColumn, type: LogicalType, as: PlainOptions = {}): Read<unknown> {
	const read = plainPayload(column, type, as);
	const { validity } = column;
	if (validity === undefined) return read;
	return (slot) => (isSet(validity, slot) ? read(slot) : null);
}

function plainPayload(column: QueryColumn, type: LogicalType, as: PlainOptions): Read<unknown> {
	switch (type.kind) {
		case 'date':
		case 'time_micros':
		case 'timestamp_micros':
		case 'timestamp_tz_micros': {
			const { temporal } = as;
			const { kind } = type;
			const read = plainScalar(column) as Read<number | bigint>;
			return temporal === undefined ? read : (slot) => temporal(read(slot), kind);
		}
		case 'decimal': {
			const { buffer, byteOffset, byteLength } = column.values;
			const words = new BigInt64Array(buffer as ArrayBuffer, byteOffset, byteLength >>> 3);
			const text: Read<string> = (slot) =>
				decimalText((words[slot * 2 + 1]! << 64n) | BigInt.asUintN(64, words[slot * 2]!), type.scale);
			const { decimal: Decimal } = as;
			return Decimal === undefined ? text : (slot) => new Decimal(text(slot));
		}
		case 'uuid': {
			const read = bytesReader(column);
			return (slot) => uuidText(read(slot));
		}
		case 'fixed':
		case 'binary':
			return bytesReader(column);
		case 'struct': {
			const members = type.fields.map((field, index) => ({
				name: field.name,
				read: plainReader(column.children[index]!, field.fieldType, as),
			}));
			const offsets = column.offsets!;
			return (slot) => {
				const object = {};
				for (const { name, read } of members) setOwn(object, name, read(offsets[slot]!));
				return object;
			};
		}
		case 'list': {
			const read = plainReader(column.children[0]!, type.element, as);
			return (slot) => entries(column, slot, read);
		}
		case 'map': {
			const key = plainReader(column.children[0]!, type.key, as);
			const value = plainReader(column.children[1]!, type.value, as);
			return (slot) => new Map(entries(column, slot, (at) => [key(at), value(at)] as const));
		}
		default:
			return plainScalar(column);
	}
}

function plainScalar(column: QueryColumn): Read<unknown> {
	const { values } = column;
	if (column.kind === 'boolean') return (slot) => isSet(values as Uint8Array, slot);
	if (column.kind === 'string') return textReader(column);
	return (slot) => values[slot];
}

function textReader(column: QueryColumn): Read<string> {
	const offsets = column.offsets!;
	const utf16 = column.utf16!;
	const bytes = column.values as Uint8Array;
	if (bytes.length > LONG_TEXT * Math.max(column.length, 1))
		return (slot) => decoder.decode(bytes.subarray(offsets[slot]!, offsets[slot + 1]!));
	const all = decoder.decode(bytes);
	return (slot) => all.slice(utf16[slot]!, utf16[slot + 1]!);
}

function bytesReader(column: QueryColumn): Read<Uint8Array> {
	const bytes = column.values as Uint8Array;
	const { offsets } = column;
	if (offsets === undefined) return (slot) => bytes.slice(slot * 16, slot * 16 + 16);
	return (slot) => bytes.slice(offsets[slot]!, offsets[slot + 1]!);
}

function entries<T>(column: QueryColumn, slot: number, read: Read<T>): T[] {
	const from = column.offsets![slot]!;
	const count = column.offsets![slot + 1]! - from;
	return Array.from({ length: count }, (_, index) => read(from + index));
}

export function isSet(bits: Uint8Array, slot: number): boolean {
	return ((bits[slot >>> 3]! >>> (slot & 7)) & 1) === 1;
}

/** Big-endian in the fewest bytes, of 16 little-endian ones. */
function minimalBytes(little: Uint8Array): Uint8Array {
	let length = 16;
	while (length > 1) {
		const top = little[length - 1]!;
		const next = little[length - 2]!;
		if (!((top === 0x00 && next < 0x80) || (top === 0xff && next >= 0x80))) break;
		length--;
	}
	return little.slice(0, length).reverse();
}
