import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Refused } from './cbor.js';
import { type ChangeRecord, decodeChangeRecord, decodeChangeRecords } from './change-record.js';

const folder = new URL('../vectors/agdx/', import.meta.url);

interface Sidecar {
	outcome: string;
	rule?: string;
	reader_outcome: 'delivered' | 'skipped_malformed' | 'skipped_version';
	cbor: Record<string, unknown>;
}

const vectors = readdirSync(folder)
	.filter((name) => name.endsWith('.json'))
	.map((name) => ({ name, sidecar: JSON.parse(readFileSync(new URL(name, folder), 'utf8')) }))
	.filter(({ sidecar }) => sidecar.message === 'ChangeRecord' && sidecar.reader_outcome !== undefined)
	.map(({ name, sidecar }) => ({
		name,
		sidecar: sidecar as Sidecar,
		bytes: new Uint8Array(readFileSync(new URL(name.replace('.json', '.bin'), folder))),
	}));

function plain(value: unknown): unknown {
	if (typeof value !== 'object' || value === null) return value;
	if ('$int' in value) return BigInt(value.$int as string);
	return '$indefinite' in value ? plain(value.$indefinite) : value;
}

function expected(cbor: Record<string, unknown>): ChangeRecord {
	const map = plain(cbor) as Record<string, unknown>;
	const record = {
		v: Number(plain(map.v)),
		index: plain(map.index) as string,
		partitionId: Number(plain(map.partition_id)),
		fromOffset: BigInt(plain(map.from_offset) as number),
		toOffset: BigInt(plain(map.to_offset) as number),
		rows: Number(plain(map.rows)),
	};
	return typeof map.stream === 'string' ? { ...record, stream: map.stream } : record;
}

describe('change records in plain TypeScript', () => {
	test('the vectors are there', () => expect(vectors.length).toBeGreaterThan(30));

	test.each(vectors)('$name', ({ sidecar, bytes }) => {
		const batch = decodeChangeRecords(bytes, Uint32Array.of(0, bytes.length));
		expect(batch.malformed).toBe(sidecar.reader_outcome === 'skipped_malformed' ? 1 : 0);
		expect(batch.version).toBe(sidecar.reader_outcome === 'skipped_version' ? 1 : 0);
		expect(batch.records.length).toBe(sidecar.reader_outcome === 'delivered' ? 1 : 0);
		if (sidecar.outcome === 'decode_error') {
			expect(() => decodeChangeRecord(bytes)).toThrow(Refused);
			try {
				decodeChangeRecord(bytes);
			} catch (error) {
				expect((error as Refused).rule).toBe(sidecar.rule);
			}
			return;
		}
		expect(decodeChangeRecord(bytes)).toEqual(expected(sidecar.cbor));
		if (batch.records.length === 1) expect(batch.records[0]).toEqual(expected(sidecar.cbor));
	});

	test('no cut of a record is taken for one', () => {
		for (const { sidecar, bytes } of vectors) {
			if (sidecar.reader_outcome !== 'delivered') continue;
			for (let length = 0; length < bytes.length; length++)
				expect(decodeChangeRecords(bytes.subarray(0, length), Uint32Array.of(0, length)).malformed).toBe(1);
		}
	});

	test('a mutated record means the same on the fast path and on the general one', () => {
		let state = 7;
		const random = (below: number) => {
			state = (Math.imul(state, 1103515245) + 12345) >>> 0;
			return (state >>> 8) % below;
		};
		const good = vectors.filter(({ sidecar }) => sidecar.reader_outcome === 'delivered');
		for (let round = 0; round < 4_000; round++) {
			const bytes = good[random(good.length)]!.bytes.slice();
			bytes[random(bytes.length)] = random(256);
			const batch = decodeChangeRecords(bytes, Uint32Array.of(0, bytes.length));
			let record: ChangeRecord | undefined;
			try {
				record = decodeChangeRecord(bytes);
			} catch {}
			expect(batch.malformed).toBe(record === undefined ? 1 : 0);
			if (record?.v === 1) expect(batch.records).toEqual([record]);
		}
	});
});
