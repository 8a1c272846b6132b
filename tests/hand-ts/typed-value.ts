import { type Reader, Refused } from './cbor.js';
import { type Field, KINDS, readMap } from './schema.js';

export interface Value {
	kind: string;
	/** As in the public TypedValue; a struct's members are { fieldId, value }. */
	value?: unknown;
}

interface Decimal {
	unscaled: Uint8Array;
	precision: number;
	scale: number;
}
interface Member {
	fieldId: number;
	value: Value;
}
interface Entry {
	key: Value;
	value: Value;
}

const NO_KEYS = new Set(['null', 'float', 'double', 'struct', 'list', 'map']);
const TAGS: Record<string, number> = {
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
const utf8 = new TextEncoder();

/** Reads a value; refuses only what cannot be read. */
export function readValue(reader: Reader): Value {
	const start = reader.at;
	let kind: string | undefined;
	let value: unknown;
	let done = false;
	let waiting = -1;
	readMap(
		reader,
		{
			kind: () => {
				const at = reader.at;
				kind = reader.text();
				if (kind !== 'null' && !KINDS.has(kind)) reader.fail('unknown_variant', at);
			},
			value: () => {
				if (kind === undefined) {
					waiting = reader.at;
					reader.skip();
				} else {
					value = readPayload(reader, kind);
					done = true;
				}
			},
		},
		['kind'],
	);
	if (waiting >= 0) {
		const end = reader.at;
		reader.at = waiting;
		value = readPayload(reader, kind!);
		reader.at = end;
	} else if (!done && kind !== 'null') reader.fail('missing_field', start);
	return kind === 'null' ? { kind } : { kind: kind!, value };
}

function readPayload(reader: Reader, kind: string): unknown {
	switch (kind) {
		case 'null':
			if (!reader.takeNull()) reader.fail('wrong_type');
			return undefined;
		case 'boolean':
			return reader.boolean();
		case 'int':
		case 'date':
			return reader.signed32();
		case 'float':
			return Math.fround(reader.float());
		case 'double':
			return reader.float();
		case 'string':
			return reader.text();
		case 'uuid':
		case 'fixed':
		case 'binary':
			return reader.byteString();
		case 'decimal': {
			const decimal: Decimal = { unscaled: new Uint8Array(), precision: 0, scale: 0 };
			readMap(
				reader,
				{
					unscaled: () => (decimal.unscaled = reader.byteString()),
					precision: () => (decimal.precision = reader.unsigned(255)),
					scale: () => (decimal.scale = reader.unsigned(255)),
				},
				['unscaled', 'precision', 'scale'],
			);
			return decimal;
		}
		case 'list': {
			const items: Value[] = [];
			for (let left = reader.array(); reader.more(left); left--) items.push(readValue(reader));
			return items;
		}
		case 'struct': {
			const members: Member[] = [];
			for (let left = reader.array(); reader.more(left); left--) {
				const member = {} as Member;
				readMap(
					reader,
					{
						field_id: () => (member.fieldId = reader.unsigned(0xffff_ffff)),
						value: () => (member.value = readValue(reader)),
					},
					['field_id', 'value'],
				);
				members.push(member);
			}
			return members;
		}
		case 'map': {
			const entries: Entry[] = [];
			for (let left = reader.array(); reader.more(left); left--) {
				const entry = {} as Entry;
				readMap(
					reader,
					{ key: () => (entry.key = readValue(reader)), value: () => (entry.value = readValue(reader)) },
					['key', 'value'],
				);
				entries.push(entry);
			}
			return entries;
		}
		default:
			return reader.signed64();
	}
}

function refuse(rule: string): never {
	throw new Refused(rule, 0, 'invalid');
}

/** The rules that a value must keep on its own. */
export function checkValue({ kind, value }: Value, depth = 1): void {
	if (depth > 16) refuse('depth_exceeded');
	switch (kind) {
		case 'float':
		case 'double':
			if (!Number.isFinite(value)) refuse('float_not_finite');
			if (Object.is(value, -0)) refuse('float_negative_zero');
			return;
		case 'time_micros':
			if ((value as bigint) < 0n || (value as bigint) >= 86_400_000_000n) refuse('time_out_of_range');
			return;
		case 'decimal':
			checkDecimal(value as Decimal);
			return;
		case 'string':
			if ((value as string).length > 2_796_202 && utf8.encode(value as string).length > 8_388_608)
				refuse('value_too_large');
			return;
		case 'uuid':
			if ((value as Uint8Array).length !== 16) refuse('uuid_length');
			return;
		case 'fixed':
			if ((value as Uint8Array).length > 1_048_576) refuse('value_too_large');
			return;
		case 'binary':
			if ((value as Uint8Array).length > 8_388_608) refuse('value_too_large');
			return;
		case 'list':
			if ((value as Value[]).length > 4096) refuse('collection_too_large');
			for (const item of value as Value[]) checkValue(item, depth + 1);
			return;
		case 'struct': {
			const members = value as Member[];
			if (members.length > 4096) refuse('collection_too_large');
			let last = 0;
			for (const { fieldId, value: inner } of members) {
				if (fieldId <= last) refuse('struct_field_order');
				last = fieldId;
				checkValue(inner, depth + 1);
			}
			return;
		}
		case 'map': {
			const entries = value as Entry[];
			if (entries.length > 4096) refuse('collection_too_large');
			let last: Uint8Array | undefined;
			for (const entry of entries) {
				if (NO_KEYS.has(entry.key.kind)) refuse('map_key_kind');
				checkValue(entry.key, depth + 1);
				const key = keyBytes(entry.key);
				if (last !== undefined && compare(last, key) >= 0) refuse('map_key_order');
				last = key;
				checkValue(entry.value, depth + 1);
			}
		}
	}
}

export function checkDecimal({ unscaled, precision, scale }: Decimal): void {
	if (unscaled.length < 1 || unscaled.length > 16) refuse('decimal_length');
	const [first, second] = unscaled as unknown as [number, number];
	if (unscaled.length > 1 && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80)))
		refuse('decimal_not_minimal');
	if (precision < 1 || precision > 38 || scale > precision) refuse('decimal_precision');
	let whole = 0n;
	for (const byte of unscaled) whole = (whole << 8n) | BigInt(byte);
	whole = BigInt.asIntN(unscaled.length * 8, whole);
	if ((whole < 0n ? -whole : whole).toString().length > precision) refuse('decimal_digits');
}

/** A value against its field: null, its own rules, kind, and what its kind asks for. */
export function checkAgainst(value: Value, field: Field): void {
	if (value.kind === 'null') {
		if (field.required) refuse('required_null');
		return;
	}
	checkValue(value);
	if (value.kind !== field.kind) refuse('type_mismatch');
	switch (field.kind) {
		case 'decimal': {
			const { precision, scale } = value.value as Decimal;
			if (precision !== field.precision || scale !== field.scale) refuse('decimal_type');
			return;
		}
		case 'fixed':
			if ((value.value as Uint8Array).length !== field.length) refuse('fixed_value_length');
			return;
		case 'struct': {
			const members = value.value as Member[];
			if (members.length !== field.children.length) refuse('struct_field_count');
			members.forEach((member, index) => {
				if (member.fieldId !== field.children[index]!.id) refuse('struct_field_id');
				checkAgainst(member.value, field.children[index]!);
			});
			return;
		}
		case 'list':
			for (const item of value.value as Value[]) checkAgainst(item, field.children[0]!);
			return;
		case 'map':
			for (const entry of value.value as Entry[]) {
				checkAgainst(entry.key, field.children[0]!);
				checkAgainst(entry.value, field.children[1]!);
			}
	}
}

function keyBytes({ kind, value }: Value): Uint8Array {
	const tag = TAGS[kind]!;
	const number = (width: number) => {
		const bytes = new Uint8Array(1 + width);
		bytes[0] = tag;
		let rest = BigInt.asUintN(width * 8, BigInt(value as number | bigint));
		for (let at = width; at > 0; at--) {
			bytes[at] = Number(rest & 255n);
			rest >>= 8n;
		}
		return bytes;
	};
	if (kind === 'boolean') return Uint8Array.of(tag, value === true ? 1 : 0);
	if (kind === 'int' || kind === 'date') return number(4);
	if (kind === 'decimal') {
		const { unscaled, precision, scale } = value as Decimal;
		return Uint8Array.of(tag, precision, scale, ...unscaled);
	}
	if (kind === 'string') return Uint8Array.of(tag, ...utf8.encode(value as string));
	if (value instanceof Uint8Array) return Uint8Array.of(tag, ...value);
	return number(8);
}

function compare(a: Uint8Array, b: Uint8Array): number {
	const length = Math.min(a.length, b.length);
	for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index]! - b[index]!;
	return a.length - b.length;
}
