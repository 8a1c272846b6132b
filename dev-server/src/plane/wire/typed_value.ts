/** Typed values as they travel: integers are bigint, floats are number, so a value encodes as it stands. */
import { asFloat, asInteger, asList, Fields } from './fields.js';
import { utf8Length } from './names.js';
import { codec, invalid } from './refusal.js';

export const MAX_VALUE_BYTES = 8_388_608;
export const MAX_ITEMS = 4096;
/** Levels of nesting in a value or a type, itself included. */
export const MAX_DEPTH = 16;
export const I32 = [-0x8000_0000n, 0x7fff_ffffn] as const;
export const I64 = [-0x8000_0000_0000_0000n, 0x7fff_ffff_ffff_ffffn] as const;
export const MICROS_PER_DAY = 86_400_000_000n;

export interface DecimalValue {
	unscaled: Uint8Array;
	precision: bigint;
	scale: bigint;
}

export type TypedValue =
	| { kind: 'null' }
	| { kind: 'boolean'; value: boolean }
	| {
			kind: 'int' | 'long' | 'date' | 'time_micros' | 'timestamp_micros' | 'timestamp_tz_micros';
			value: bigint;
	  }
	| { kind: 'float' | 'double'; value: number }
	| { kind: 'decimal'; value: DecimalValue }
	| { kind: 'string'; value: string }
	| { kind: 'uuid' | 'fixed' | 'binary'; value: Uint8Array }
	| { kind: 'struct'; value: { field_id: bigint; value: TypedValue }[] }
	| { kind: 'list'; value: TypedValue[] }
	| { kind: 'map'; value: { key: TypedValue; value: TypedValue }[] };

export type Kind = TypedValue['kind'];

function strictBytes(value: unknown, path: string): Uint8Array {
	if (value instanceof Uint8Array) return value;
	return Array.isArray(value)
		? Uint8Array.from(value, (byte: unknown) => Number(asInteger(byte, path, 0n, 255n)))
		: codec('wrong_type', path, 'bytes expected');
}

/** Reads and checks a value on its own (contract 9.3). */
export function readTypedValue(item: unknown, path: string, depth = 1): TypedValue {
	const fields = Fields.of(item, path);
	const kind = fields.text('kind');
	if (kind === 'null') {
		if (fields.has('value')) codec('wrong_type', path, 'null carries no value');
		return { kind };
	}
	const at = fields.at('value');
	const value = fields.required('value');
	if (depth > MAX_DEPTH) invalid('depth_exceeded', path);
	switch (kind) {
		case 'boolean':
			return { kind, value: fields.bool('value') };
		case 'int':
		case 'date':
			return { kind, value: asInteger(value, at, ...I32) };
		case 'long':
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			return { kind, value: asInteger(value, at, ...I64) };
		case 'time_micros': {
			const micros = asInteger(value, at, ...I64);
			if (micros < 0n || micros >= MICROS_PER_DAY) invalid('time_out_of_range', at);
			return { kind, value: micros };
		}
		case 'float':
		case 'double': {
			const raw = asFloat(value, at);
			const number = kind === 'float' ? Math.fround(raw) : raw;
			if (!Number.isFinite(number)) invalid('float_not_finite', at);
			if (Object.is(number, -0)) invalid('float_negative_zero', at);
			return { kind, value: number };
		}
		case 'decimal':
			return { kind, value: readDecimal(value, at) };
		case 'string': {
			const text = fields.text('value');
			if (utf8Length(text) > MAX_VALUE_BYTES) invalid('value_too_large', at);
			return { kind, value: text };
		}
		case 'uuid': {
			const bytes = strictBytes(value, at);
			if (bytes.length !== 16) invalid('uuid_length', at);
			return { kind, value: bytes };
		}
		case 'fixed':
		case 'binary': {
			const bytes = strictBytes(value, at);
			if (bytes.length > (kind === 'fixed' ? 1_048_576 : MAX_VALUE_BYTES)) invalid('value_too_large', at);
			return { kind, value: bytes };
		}
		case 'list': {
			const items = asList(value, at, (entry, p) => readTypedValue(entry, p, depth + 1));
			if (items.length > MAX_ITEMS) invalid('collection_too_large', at);
			return { kind, value: items };
		}
		case 'struct': {
			const entries = asList(value, at, (entry, p) => {
				const field = Fields.of(entry, p);
				return {
					field_id: field.u32('field_id'),
					value: readTypedValue(field.required('value'), `${p}.value`, depth + 1),
				};
			});
			if (entries.length > MAX_ITEMS) invalid('collection_too_large', at);
			let last = 0n;
			for (const entry of entries) {
				if (entry.field_id <= last) invalid('struct_field_order', at);
				last = entry.field_id;
			}
			return { kind, value: entries };
		}
		case 'map': {
			const entries = asList(value, at, (entry, p) => {
				const pair = Fields.of(entry, p);
				return {
					key: readTypedValue(pair.required('key'), `${p}.key`, depth + 1),
					value: readTypedValue(pair.required('value'), `${p}.value`, depth + 1),
				};
			});
			if (entries.length > MAX_ITEMS) invalid('collection_too_large', at);
			checkMapOrder(entries, at);
			return { kind, value: entries };
		}
		default:
			return codec('unknown_variant', fields.at('kind'), kind);
	}
}

function readDecimal(value: unknown, path: string): DecimalValue {
	const fields = Fields.of(value, path);
	const decimal = {
		unscaled: fields.bytes('unscaled'),
		precision: fields.u8('precision'),
		scale: fields.u8('scale'),
	};
	const raw = decimal.unscaled;
	if (raw.length < 1 || raw.length > 16) invalid('decimal_length', path);
	if (raw.length > 1) {
		const second = raw[1]! & 0x80;
		if ((raw[0] === 0 && second === 0) || (raw[0] === 0xff && second !== 0))
			invalid('decimal_not_minimal', path);
	}
	if (decimal.precision < 1n || decimal.precision > 38n || decimal.scale > decimal.precision) {
		invalid('decimal_precision', path);
	}
	const magnitude = unscaledInteger(raw);
	const digits = (magnitude < 0n ? -magnitude : magnitude).toString().length;
	if (digits > Number(decimal.precision)) invalid('decimal_digits', path);
	return decimal;
}

/** A signed integer as big-endian two's complement in the fewest bytes. */
export function minimalSigned(value: bigint): Uint8Array {
	let length = 1;
	while (BigInt.asIntN(length * 8, value) !== value) length += 1;
	const hex = BigInt.asUintN(length * 8, value)
		.toString(16)
		.padStart(length * 2, '0');
	return new Uint8Array(Buffer.from(hex, 'hex'));
}

/** Big-endian two's complement to a signed integer. */
export function unscaledInteger(bytes: Uint8Array): bigint {
	return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

const KEY_TAGS: Partial<Record<Kind, number>> = {
	boolean: 0,
	int: 1,
	long: 2,
	decimal: 3,
	date: 4,
	time_micros: 5,
	timestamp_micros: 6,
	timestamp_tz_micros: 7,
	string: 8,
	uuid: 9,
	fixed: 10,
	binary: 11,
};

/** Kinds that a map's key may have. */
export const KEY_KINDS: ReadonlySet<string> = new Set(Object.keys(KEY_TAGS));

/** Bytes by which the entries of a map are ordered, and equal keys known. */
export function canonicalKey(key: TypedValue, path: string): Buffer {
	const tag = KEY_TAGS[key.kind];
	if (tag === undefined) invalid('map_key_kind', path);
	const body = (() => {
		switch (key.kind) {
			case 'boolean':
				return Buffer.from([key.value ? 1 : 0]);
			case 'int':
			case 'date': {
				const out = Buffer.alloc(4);
				out.writeInt32BE(Number(key.value));
				return out;
			}
			case 'long':
			case 'time_micros':
			case 'timestamp_micros':
			case 'timestamp_tz_micros': {
				const out = Buffer.alloc(8);
				out.writeBigInt64BE(key.value);
				return out;
			}
			case 'decimal':
				return Buffer.concat([
					Buffer.from([Number(key.value.precision), Number(key.value.scale)]),
					key.value.unscaled,
				]);
			case 'string':
				return Buffer.from(key.value, 'utf8');
			case 'uuid':
			case 'fixed':
			case 'binary':
				return Buffer.from(key.value);
			default:
				return invalid('map_key_kind', path);
		}
	})();
	return Buffer.concat([Buffer.from([tag]), body]);
}

function checkMapOrder(entries: { key: TypedValue }[], path: string): void {
	let last: Buffer | undefined;
	for (const entry of entries) {
		const key = canonicalKey(entry.key, path);
		if (last !== undefined && Buffer.compare(last, key) >= 0) invalid('map_key_order', path);
		last = key;
	}
}
