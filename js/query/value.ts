import { InvalidError } from '../errors/index.js';

/** One value of the managed plane. Every kind stays apart from every other. */
export type TypedValue =
	| { readonly kind: 'null' }
	| { readonly kind: 'boolean'; readonly value: boolean }
	| { readonly kind: 'int' | 'date' | 'float' | 'double'; readonly value: number }
	| {
			readonly kind: 'long' | 'time_micros' | 'timestamp_micros' | 'timestamp_tz_micros';
			readonly value: bigint;
	  }
	| { readonly kind: 'decimal'; readonly value: DecimalValue }
	| { readonly kind: 'string'; readonly value: string }
	| { readonly kind: 'uuid' | 'fixed' | 'binary'; readonly value: Uint8Array }
	| { readonly kind: 'struct'; readonly value: readonly StructMember[] }
	| { readonly kind: 'list'; readonly value: readonly TypedValue[] }
	| { readonly kind: 'map'; readonly value: readonly MapEntry[] };

/** `unscaled` is big-endian two's complement in the fewest bytes; the value is unscaled × 10^-scale. */
export interface DecimalValue {
	readonly unscaled: Uint8Array;
	readonly precision: number;
	readonly scale: number;
}

export interface StructMember {
	readonly fieldId: number;
	readonly value: TypedValue;
}

export interface MapEntry {
	readonly key: TypedValue;
	readonly value: TypedValue;
}

/** What builders take for a value: a TypedValue, or a plain value that stands for one. */
export type QueryValue = TypedValue | string | boolean | bigint | number | null | readonly QueryValue[];

/**
 * string → string, boolean → boolean, bigint → long, whole number → long, other number → double, null → null, array →
 * list. Any other kind is passed as a TypedValue.
 *
 * @throws {InvalidError} a value that stands for no kind
 */
export function typedValue(value: QueryValue): TypedValue {
	switch (typeof value) {
		case 'string':
			return { kind: 'string', value };
		case 'boolean':
			return { kind: 'boolean', value };
		case 'bigint':
			return { kind: 'long', value };
		case 'number':
			return Number.isInteger(value) && Math.abs(value) < 2 ** 63
				? { kind: 'long', value: BigInt(value) }
				: { kind: 'double', value };
		case 'object':
			if (value === null) return { kind: 'null' };
			if (isList(value)) return { kind: 'list', value: value.map(typedValue) };
			if (typeof value.kind === 'string') return value;
	}
	throw new InvalidError(
		'a query value must be text, a number, a bigint, a boolean, null, a list or a TypedValue',
		{
			rule: 'argument',
		},
	);
}

function isList(value: TypedValue | readonly QueryValue[]): value is readonly QueryValue[] {
	return Array.isArray(value);
}
