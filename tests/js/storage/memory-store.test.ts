import { describe, expect, it } from 'vitest';
import { MemoryStore, type MemoryTransaction } from '../../../js/storage/memory-store.js';
import { storeConformance } from './conformance.js';

describe('MemoryStore', () => {
	const places = new Map<string, MemoryStore>();
	storeConformance<MemoryTransaction>(
		{
			test: (name, body) => it(name, body),
			equal: (actual, expected) => expect(actual).toEqual(expected),
		},
		{
			open: async (place) => {
				const store = places.get(place) ?? new MemoryStore();
				places.set(place, store);
				return store;
			},
			putRow: (transaction, key, value) => transaction.put('rows', key, value),
			getRow: async (store, key, row) => (store as MemoryStore).rows('rows', key.scope).get(row),
		},
	);

	it('a transaction sees its own writes and nobody else does before it ends', async () => {
		const store = new MemoryStore();
		const key = { scope: 'default', name: 'x' };
		await store.update(
			key,
			() => 'keep',
			async (transaction) => {
				transaction.put('rows', 1, 'a');
				expect(transaction.get('rows', 1)).toBe('a');
				expect(transaction.getAll('rows')).toEqual(['a']);
				expect(store.rows('rows').size).toBe(0);
				transaction.delete('rows', 1);
				transaction.put('rows', 2, 'b');
			},
		);
		expect([...store.rows('rows')]).toEqual([[2, 'b']]);
	});
});
