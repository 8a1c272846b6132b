import { describe, expect, it } from 'vitest';
import { camelCase, readTape, snakeCase, TapeWriter } from '../../../js/core/tape.js';
import { InvalidError } from '../../../js/errors/index.js';

function roundTrip(value: unknown): unknown {
	const tape = new TapeWriter().encode(value);
	return readTape(tape, 0, tape.length);
}

describe('the tape', () => {
	it.each([
		[null],
		[true],
		[false],
		[0],
		[-1.5],
		[''],
		['Grüße 👋 \u0000'],
		[2n ** 53n + 1n],
		[2n ** 63n],
		[2n ** 64n - 1n],
		[2n ** 128n - 1n],
		[-1n],
		[-(2n ** 63n)],
		[new Uint8Array([1, 2, 3, 4, 5])],
		[[1, [2n, 'x'], { someKey: [null] }]],
	])('carries %s unchanged', (value) => {
		expect(roundTrip(value)).toEqual(value);
	});

	it('keeps `__proto__` an ordinary entry', () => {
		const sent = JSON.parse('{"__proto__": {"polluted": true}, "x": 1}');
		const got = roundTrip(sent) as Record<string, unknown>;
		expect(Object.keys(got)).toEqual(['__proto__', 'x']);
		expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
		expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
	});

	it('leaves out what is undefined, and keeps what is null', () => {
		expect(roundTrip({ a: undefined, b: null })).toEqual({ b: null });
	});

	it('refuses integers that no field can hold, and values without an end', () => {
		expect(() => roundTrip(2n ** 128n)).toThrow(InvalidError);
		const endless: unknown[] = [];
		endless.push(endless);
		expect(() => roundTrip(endless)).toThrow(InvalidError);
	});

	it.each([
		['fromOffset', 'from_offset'],
		['a', 'a'],
		['createdAtMicros', 'created_at_micros'],
		['__proto__', '__proto__'],
		['RegisterProjection', 'RegisterProjection'],
		['a2aGateway', 'a2a_gateway'],
	])('names: %s is %s on the tape', (camel, snake) => {
		expect(snakeCase(camel)).toBe(snake);
		expect(camelCase(snake)).toBe(camel);
	});

	it('grows for large values and starts over small', () => {
		const writer = new TapeWriter();
		const large = new Uint8Array(3_000_000).fill(7);
		const tape = writer.encode({ large });
		const got = readTape(tape, 0, tape.length) as { large: Uint8Array };
		expect(Buffer.compare(got.large, large)).toBe(0);
		expect(writer.encode(1).length).toBe(12);
	});
});
