import { describe, expect, it } from 'vitest';
import { decodePlace, encodePlace } from '../../../js/changefeed/position-bytes.js';
import { InvalidError } from '../../../js/errors/index.js';

const identity = {
	streamId: 1,
	streamCreatedAtMicros: 2n ** 63n,
	topicId: 3,
	topicCreatedAtMicros: 4n,
	partitions: [{ id: 0, createdAtMicros: 5n }],
};
const positions = new Map([
	[0, 0n],
	[1, 2n ** 53n + 1n],
	[2, 2n ** 64n - 1n],
	[3, 2n ** 64n],
]);

describe('the position of a topic as bytes', () => {
	it('comes back exactly, exhausted partitions too (D5)', () => {
		for (const place of [
			{ positions, identity },
			{ positions: new Map(), identity: undefined },
		]) {
			expect(decodePlace(encodePlace(place))).toEqual(place);
		}
	});

	it('is refused when it is cut, longer, or of another kind', () => {
		const bytes = encodePlace({ positions, identity });
		for (let length = 0; length < bytes.length; length++) {
			expect(() => decodePlace(bytes.subarray(0, length))).toThrow(InvalidError);
		}
		expect(() => decodePlace(new Uint8Array([...bytes, 0]))).toThrow(InvalidError);
		for (const at of [0, 1]) {
			const other = bytes.slice();
			other[at] = 9;
			expect(() => decodePlace(other)).toThrow(InvalidError);
		}
	});

	it('reads no further than its bytes for a count that is too high', () => {
		const bytes = encodePlace({ positions: new Map([[0, 1n]]), identity: undefined });
		new DataView(bytes.buffer).setUint32(2, 0xffffffff, true);
		expect(() => decodePlace(bytes)).toThrow(InvalidError);
	});
});
