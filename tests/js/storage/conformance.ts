import type { Positions } from '../../../js/core/contract.js';
import type { Store, StoredPosition, StoreKey } from '../../../js/storage/store.js';

/** What a runner must offer: vitest in Node, a page of its own in a browser. */
export interface Runner {
	test(name: string, body: () => Promise<void>): void;
	equal(actual: unknown, expected: unknown): void;
}

/** How the suite gets at a kind of store. `open` gives access to what an earlier `open` of the same place wrote. */
export interface StoreUnderTest<Tx> {
	open(place: string): Promise<Store<Tx>>;
	/** Writes an application's row in a transaction. May be asynchronous, on the transaction's own requests. */
	putRow(transaction: Tx, key: string, value: unknown): unknown;
	getRow(store: Store<Tx>, key: StoreKey, row: string): Promise<unknown>;
}

const source = { content: 'changes', stream: '_agdx', topic: 'changes', index: 'orders_v1' } as const;

function at(positions: Positions, epoch = 1): StoredPosition {
	return {
		positions,
		identity: {
			streamId: 1,
			streamCreatedAtMicros: 2n ** 63n,
			topicId: 2,
			topicCreatedAtMicros: 2n ** 64n - 1n,
			partitions: [{ id: 0, createdAtMicros: 2n ** 53n + 1n }],
		},
		epoch,
		updatedAt: 1,
		source,
	};
}

async function outcome(promise: Promise<unknown>): Promise<string> {
	try {
		await promise;
		return 'done';
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}

/** The promises of every store, as tests. Any store can be run through it, wherever it runs. */
export function storeConformance<Tx>(
	{ test, equal }: Runner,
	{ open, putRow, getRow }: StoreUnderTest<Tx>,
): void {
	let places = 0;
	const fresh = (): string => {
		places += 1;
		return `place-${places}`;
	};
	const key = { scope: 'user-1', name: 'orders' };

	test('nothing is stored at first', async () => {
		const store = await open(fresh());
		equal(await store.read(key), undefined);
		equal(await store.list(), []);
	});

	test('offsets come back exactly: 0, 2^53+1, 2^63, 2^64-1', async () => {
		const place = fresh();
		const store = await open(place);
		const positions = new Map([
			[0, 0n],
			[1, 2n ** 53n + 1n],
			[2, 2n ** 63n],
			[1023, 2n ** 64n - 1n],
		]);
		await store.update(key, () => ({ put: at(positions) }));
		const again = await (await open(place)).read(key);
		equal(again?.positions, positions);
		equal(again?.identity, at(positions).identity);
		equal(again?.source, source);
	});

	test('the decision sees what is stored and replaces it', async () => {
		const store = await open(fresh());
		const seen: (bigint | undefined)[] = [];
		for (const next of [1n, 2n, 3n]) {
			await store.update(key, (stored) => {
				seen.push(stored?.positions.get(0));
				return { put: at(new Map([[0, next]])) };
			});
		}
		equal(seen, [undefined, 1n, 2n]);
	});

	test('keep leaves what is stored, remove removes it', async () => {
		const store = await open(fresh());
		await store.update(key, () => ({ put: at(new Map([[0, 5n]])) }));
		await store.update(key, () => 'keep');
		equal((await store.read(key))?.positions.get(0), 5n);
		await store.update(key, () => 'remove');
		equal(await store.read(key), undefined);
	});

	test('rows and position are written together', async () => {
		const place = fresh();
		const store = await open(place);
		await store.update(
			key,
			() => ({ put: at(new Map([[0, 1n]])) }),
			(transaction) => putRow(transaction, 'a', 1),
		);
		const again = await open(place);
		equal((await again.read(key))?.positions.get(0), 1n);
		equal(await getRow(again, key, 'a'), 1);
	});

	test('a decision that throws writes neither, and its error comes through', async () => {
		const store = await open(fresh());
		await store.update(key, () => ({ put: at(new Map([[0, 1n]])) }));
		const ended = await outcome(
			store.update(
				key,
				() => {
					throw new Error('moved');
				},
				(transaction) => putRow(transaction, 'b', 1),
			),
		);
		equal(ended, 'moved');
		equal((await store.read(key))?.positions.get(0), 1n);
		equal(await getRow(store, key, 'b'), undefined);
	});

	test('a write that throws writes neither', async () => {
		const store = await open(fresh());
		const ended = await outcome(
			store.update(
				key,
				() => ({ put: at(new Map([[0, 1n]])) }),
				(transaction) => {
					Promise.resolve(putRow(transaction, 'c', 1)).catch(() => {});
					throw new Error('handler failed');
				},
			),
		);
		equal(ended, 'handler failed');
		equal(await store.read(key), undefined);
		equal(await getRow(store, key, 'c'), undefined);
	});

	test('a write that rejects later writes neither', async () => {
		const store = await open(fresh());
		const ended = await outcome(
			store.update(
				key,
				() => ({ put: at(new Map([[0, 1n]])) }),
				async (transaction) => {
					await putRow(transaction, 'd', 1);
					throw new Error('handler failed');
				},
			),
		);
		equal(ended, 'handler failed');
		equal(await store.read(key), undefined);
		equal(await getRow(store, key, 'd'), undefined);
	});

	test('a write that awaits its own requests is complete', async () => {
		const store = await open(fresh());
		await store.update(
			key,
			() => ({ put: at(new Map([[0, 20n]])) }),
			async (transaction) => {
				for (let i = 0; i < 20; i++) await putRow(transaction, `row-${i}`, i);
			},
		);
		equal(await getRow(store, key, 'row-0'), 0);
		equal(await getRow(store, key, 'row-19'), 19);
		equal((await store.read(key))?.positions.get(0), 20n);
	});

	test('updates of one key happen one after another: none is lost', async () => {
		const store = await open(fresh());
		await Promise.all(
			Array.from({ length: 25 }, () =>
				store.update(key, (stored) => ({
					put: at(new Map([[0, (stored?.positions.get(0) ?? 0n) + 1n]])),
				})),
			),
		);
		equal((await store.read(key))?.positions.get(0), 25n);
	});

	test('of two owners that start from one position, one commits and the other writes nothing', async () => {
		const place = fresh();
		const [one, other] = [await open(place), await open(place)];
		await one.update(key, () => ({ put: at(new Map([[0, 10n]])) }));
		const commit = (store: Store<Tx>, row: string): Promise<string> =>
			outcome(
				store.update(
					key,
					(stored) => {
						if (stored?.positions.get(0) !== 10n) throw new Error('conflict');
						return { put: at(new Map([[0, 11n]])) };
					},
					(transaction) => putRow(transaction, row, true),
				),
			);
		const ends = await Promise.all([commit(one, 'one'), commit(other, 'other')]);
		equal([...ends].sort(), ['conflict', 'done']);
		equal(await getRow(one, key, ends[0] === 'done' ? 'other' : 'one'), undefined);
	});

	test('scopes are apart: listing, clearing', async () => {
		const store = await open(fresh());
		const other = { scope: 'user-2', name: 'orders' };
		await store.update(key, () => ({ put: at(new Map([[0, 1n]])) }));
		await store.update(other, () => ({ put: at(new Map([[0, 2n]])) }));
		equal(
			(await store.list('user-1')).map((entry) => [entry.scope, entry.name, entry.positions.get(0)]),
			[['user-1', 'orders', 1n]],
		);
		await store.clear('user-1');
		equal(await store.read(key), undefined);
		equal((await store.read(other))?.positions.get(0), 2n);
		equal(await store.list('user-1'), []);
	});
}
