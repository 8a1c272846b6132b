/** What the plane writes is what the encoder of another package writes. */
import { encode, Token, Type } from 'cborg';
import { describe, expect, it } from 'vitest';
import { encodeCbor } from '../../src/plane/wire/cbor.js';

const other = (value: unknown) =>
	encode(value, {
		mapSorter: undefined as never,
		ignoreUndefinedProperties: true,
		typeEncoders: { number: (number: number) => new Token(Type.float, number) },
	});

function same(value: unknown): void {
	expect(Buffer.from(encodeCbor(value)).toString('hex')).toBe(Buffer.from(other(value)).toString('hex'));
}

describe('the writer agrees with another encoder', () => {
	it('on integers around every width', () => {
		for (const bits of [4n, 5n, 8n, 16n, 31n, 32n, 53n, 63n])
			for (const near of [-1n, 0n, 1n]) for (const sign of [1n, -1n]) same(sign * (2n ** bits + near));
		for (const value of [0n, 23n, 24n, -1n, -24n, -25n, 2n ** 64n - 1n, -(2n ** 63n)]) same(value);
	});

	it('on floats of every width', () => {
		const floats = [
			0,
			-0,
			1,
			1.5,
			65504,
			65505,
			65536,
			2 ** -14,
			2 ** -25,
			0.1,
			Math.fround(0.1),
			1e300,
			5e-324,
			Number.POSITIVE_INFINITY,
			Number.NEGATIVE_INFINITY,
			Number.NaN,
		];
		for (const value of floats) same(value);
		for (let i = 0; i < 5000; i++) {
			const half = (i * 13) & 0x3ff;
			same((1 + half / 1024) * 2 ** ((i % 40) - 14));
			same(Math.fround(Math.sin(i) * 10 ** ((i % 70) - 35)));
			same(Math.sin(i) * 10 ** ((i % 600) - 300));
		}
	});

	it('and is shorter where a half is subnormal', () => {
		const hex = (value: number) => Buffer.from(encodeCbor(value)).toString('hex');
		expect(hex(2 ** -24)).toBe('f90001');
		expect(hex(-3 * 2 ** -24)).toBe('f98003');
		expect(hex(1023 * 2 ** -24)).toBe('f903ff');
		expect(hex(1.5 * 2 ** -24)).toBe('fa33c00000');
	});

	it('on text, bytes and containers around every length', () => {
		for (const length of [0, 1, 22, 23, 24, 25, 255, 256, 65_535, 65_536, 200_000]) {
			same('x'.repeat(length));
			same('ß'.repeat(length));
			same(`${'x'.repeat(length)}\u{1F9EA}`);
			same(new Uint8Array(length).fill(7));
			same(Array.from({ length: Math.min(length, 70_000) }, () => true));
		}
		same({ b: 1n, a: undefined, c: [null, { d: '' }], '': false });
		same(JSON.parse('{"__proto__": "x", "constructor": "y"}'));
	});
});
