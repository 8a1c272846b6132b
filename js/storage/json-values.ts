import { InvalidError } from '../errors/index.js';

/** Nesting of an application's value; deeper ones are refused, coming and going. */
const MAX_DEPTH = 64;

/**
 * An application's value as JSON that keeps what JSON alone would lose: bigints, bytes, dates, maps, -0 and the numbers
 * that are none. Whatever JSON has no equal for is an array that starts with a tag, so that no field name is special.
 *
 * @throws {InvalidError} a function, a symbol, a class of the application's, or deeper than 64
 */
export function toJson(value: unknown, depth = 0): unknown {
	if (depth > MAX_DEPTH) throw new InvalidError('put: the value is nested too deeply, or in itself');
	switch (typeof value) {
		case 'string':
		case 'boolean':
			return value;
		case 'number':
			return Number.isFinite(value) && !Object.is(value, -0)
				? value
				: ['number', Object.is(value, -0) ? '-0' : String(value)];
		case 'bigint':
			return ['bigint', String(value)];
		case 'undefined':
			return ['undefined'];
		case 'object':
			return value === null ? null : objectToJson(value, depth + 1);
		default:
			throw new InvalidError(`put: a ${typeof value} cannot be stored`);
	}
}

function objectToJson(value: object, depth: number): unknown {
	if (Array.isArray(value)) return ['array', ...value.map((item) => toJson(item, depth))];
	if (value instanceof Uint8Array) return ['bytes', Buffer.from(value).toString('base64')];
	if (value instanceof Date) return ['date', toJson(value.getTime())];
	if (value instanceof Map) {
		return ['map', ...[...value].map(([key, item]) => [toJson(key, depth), toJson(item, depth)])];
	}
	const prototype = Object.getPrototypeOf(value) as unknown;
	if (prototype !== Object.prototype && prototype !== null) {
		throw new InvalidError(`put: an object of class ${value.constructor?.name ?? '?'} cannot be stored`);
	}
	return ['object', ...Object.entries(value).map(([key, item]) => [key, toJson(item, depth)])];
}

/** @throws {TypeError} it is nothing that `toJson` makes */
export function fromJson(json: unknown, depth = 0): unknown {
	if (!Array.isArray(json)) {
		if (typeof json === 'object' && json !== null) throw new TypeError('an object without a tag');
		return json;
	}
	if (depth > MAX_DEPTH * 2) throw new TypeError('nested too deeply');
	const [tag, ...rest] = json as [unknown, ...unknown[]];
	const [first] = rest;
	switch (tag) {
		case 'number':
			return Number(first);
		case 'bigint':
			return BigInt(textOf(first));
		case 'undefined':
			return undefined;
		case 'bytes':
			return new Uint8Array(Buffer.from(textOf(first), 'base64'));
		case 'date':
			return new Date(fromJson(first) as number);
		case 'array':
			return rest.map((item) => fromJson(item, depth + 1));
		case 'map':
			return new Map(pairs(rest).map(([key, item]) => [fromJson(key, depth + 1), fromJson(item, depth + 1)]));
		case 'object':
			// Defines own properties: `__proto__` is a legal name.
			return Object.fromEntries(pairs(rest).map(([key, item]) => [textOf(key), fromJson(item, depth + 1)]));
		default:
			throw new TypeError('an unknown tag');
	}
}

function textOf(json: unknown): string {
	if (typeof json !== 'string') throw new TypeError('not a text');
	return json;
}

function pairs(items: readonly unknown[]): [unknown, unknown][] {
	return items.map((item) => {
		if (!Array.isArray(item) || item.length !== 2) throw new TypeError('not a pair');
		return item as [unknown, unknown];
	});
}
