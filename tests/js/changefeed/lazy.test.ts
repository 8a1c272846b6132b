import { beforeAll, describe, expect, it } from 'vitest';
import { full } from '../../../js/core/full.js';
import { loadCore } from '../../../js/core/load.js';
import { ClosedError } from '../../../js/errors/index.js';
import { Consumer, Lazy, type Observer, type RowChange } from '../../../js/index.js';
import { FakeClock, FakePage } from '../support/world.js';
import { change, ScriptedSource } from './scripted-source.js';

beforeAll(async () => {
	await loadCore(full);
});

async function settle(): Promise<void> {
	for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function setUp(observer?: Observer) {
	const source = new ScriptedSource();
	const clock = new FakeClock();
	const consumer = new Consumer<RowChange>(
		{ name: 'shared', source, watched: { collections: ['orders'] }, ...(observer ? { observer } : {}) },
		{ clock, lifecycle: new FakePage() },
	);
	const lazy = new Lazy({ consumer });
	const subscriber = () => {
		const seen: unknown[] = [];
		return { seen, change: (one: RowChange) => void seen.push(one.key) };
	};
	return { source, clock, lazy, subscriber };
}

describe('a shared consumer', () => {
	it('opens with the first subscriber and hands every change to all of them', async () => {
		const { source, lazy, subscriber } = setUp();
		const [first, second] = [subscriber(), subscriber()];
		await settle();
		expect(source.opened).toHaveLength(0);
		lazy.acquire(first);
		lazy.acquire(second);
		await settle();
		source.add(change(1));
		await settle();
		expect([first.seen, second.seen]).toEqual([[1], [1]]);
		expect(source.opened).toHaveLength(1);
		expect(source.opened[0]?.from).toBeUndefined();
		expect(lazy.subscribers).toBe(2);
		lazy.close();
	});

	it('closes 30 s after the last has left and not before (D8)', async () => {
		const { source, clock, lazy, subscriber } = setUp();
		const release = lazy.acquire(subscriber());
		await settle();
		release();
		release();
		expect(lazy.subscribers).toBe(0);
		clock.advance(29_999);
		await settle();
		expect(source.live).toBe(1);
		clock.advance(1);
		await settle();
		expect(source.live).toBe(0);
		expect(clock.timers.size).toBe(0);
	});

	it('hands one that returns in time the same stream and what came meanwhile (rows 60, 61)', async () => {
		const { source, clock, lazy, subscriber } = setUp();
		const [first, second] = [subscriber(), subscriber()];
		const release = lazy.acquire(first);
		await settle();
		release();
		source.add(change(1), change(2), change(3));
		await settle();
		// What was asked for already has come; nothing more is read.
		expect(source.reads).toBe(1);
		clock.advance(29_000);
		lazy.acquire(second);
		await settle();
		expect([first.seen, second.seen]).toEqual([[], [1, 2, 3]]);
		expect(source.opened).toHaveLength(1);
		lazy.close();
	});

	it('opens from now for one that comes after the grace', async () => {
		const { source, clock, lazy, subscriber } = setUp();
		lazy.acquire(subscriber())();
		await settle();
		const release = lazy.acquire(subscriber());
		await settle();
		release();
		clock.advance(30_000);
		await settle();
		source.add(change(1));
		const late = subscriber();
		lazy.acquire(late);
		await settle();
		source.add(change(2));
		await settle();
		expect(late.seen).toEqual([2]);
		lazy.close();
	});

	it('goes on for the others when one throws', async () => {
		const told: unknown[] = [];
		const { source, lazy, subscriber } = setUp({
			feedSubscriberFailed: (_, error) => void told.push(error),
		});
		const failure = new Error('mine');
		const failed: unknown[] = [];
		const other = subscriber();
		lazy.acquire({
			change: () => {
				throw failure;
			},
			failed: (error) => {
				failed.push(error);
				throw new Error('again');
			},
		});
		lazy.acquire(other);
		await settle();
		source.add(change(1), change(2));
		await settle();
		expect(other.seen).toEqual([1, 2]);
		expect(failed).toEqual([failure]);
		expect(told).toEqual([failure]);
		expect(lazy.subscribers).toBe(1);
		lazy.close();
	});

	it('does not wait for one that was released in the middle of a call', async () => {
		const { source, lazy, subscriber } = setUp();
		const other = subscriber();
		const release = lazy.acquire({ change: () => new Promise(() => {}) });
		lazy.acquire(other);
		await settle();
		source.add(change(1), change(2));
		await settle();
		expect(other.seen).toEqual([1]);
		release();
		await settle();
		expect(other.seen).toEqual([1, 2]);
		lazy.close();
	});

	it('changes what is watched at once on an open stream, in the grace too', async () => {
		const { source, lazy, subscriber } = setUp();
		const release = lazy.acquire(subscriber());
		await settle();
		lazy.setWatched({ collections: ['a'] });
		await settle();
		expect(source.opened.at(-1)?.watched.collections).toEqual(['a']);
		release();
		lazy.setWatched({ collections: ['b'] });
		await settle();
		expect(source.opened.at(-1)?.watched.collections).toEqual(['b']);
		expect(source.live).toBe(1);
		lazy.close();
	});

	it('stops for good when it is closed, whatever the subscribers', async () => {
		const { source, clock, lazy, subscriber } = setUp();
		const one = subscriber();
		lazy.acquire(one);
		await settle();
		lazy.close();
		lazy.close();
		await settle();
		expect(source.live).toBe(0);
		lazy.acquire(one)();
		await settle();
		expect(lazy.subscribers).toBe(0);
		expect(source.opened).toHaveLength(1);
		expect(clock.timers.size).toBe(0);
	});

	it('tells its subscribers when the run fails, and runs anew for the next one', async () => {
		const { source, lazy, subscriber } = setUp();
		const failure = new ClosedError('closed');
		source.openFailures.push(failure);
		const failed: unknown[] = [];
		lazy.acquire({ change: () => {}, failed: (error) => void failed.push(error) });
		await settle();
		expect(failed).toEqual([failure]);
		expect(lazy.subscribers).toBe(0);
		const next = subscriber();
		lazy.acquire(next);
		await settle();
		source.add(change(1));
		await settle();
		expect(next.seen).toEqual([1]);
		lazy.close();
	});
});
