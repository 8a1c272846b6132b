import { getEventListeners } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { full } from '../../../js/core/full.js';
import { type CoreModule, loadCore } from '../../../js/core/load.js';
import {
	ClosedError,
	ConfigError,
	HistoryLostError,
	InvalidError,
	TransportError,
} from '../../../js/errors/index.js';
import {
	Consumer,
	type ConsumerOptions,
	type Handler,
	matches,
	type Observer,
	type RowChange,
} from '../../../js/index.js';
import { FakeClock, FakePage } from '../support/world.js';
import { change, numberOf, place, ScriptedSource } from './scripted-source.js';

let module: CoreModule;
beforeAll(async () => {
	module = await loadCore(full);
});

/** Lets everything that is ready happen. */
async function settle(): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function setUp(more: Partial<ConsumerOptions<RowChange>> = {}) {
	const source = new ScriptedSource();
	const clock = new FakeClock();
	const page = new FakePage();
	const seen: (string | number)[] = [];
	const notes: unknown[][] = [];
	const note =
		(name: string) =>
		(...about: unknown[]): void => {
			notes.push([name, ...about.slice(1)]);
		};
	const handler: Handler<RowChange> = {
		change: (one) => void seen.push(one.key as number),
		idle: (at) => void seen.push(`idle ${numberOf(at)}`),
		gap: (gap) => void seen.push(`gap ${numberOf(gap.position)}`),
	};
	const observer: Observer = {
		feedState: note('state'),
		feedReopened: note('reopened'),
		feedEvent: note('event'),
		feedLag: note('lag'),
	};
	const consumer = new Consumer<RowChange>(
		{ name: 'test', source, handler, observer, watched: { collections: ['orders'] }, ...more },
		{ clock, lifecycle: page },
	);
	const stop = new AbortController();
	const run = (from?: number) => {
		const end = consumer.run(from === undefined ? undefined : place(from), stop.signal);
		end.catch(() => {});
		return end;
	};
	return { source, clock, page, seen, notes, consumer, stop, run };
}

describe('a consumer', () => {
	it('hands over changes in their order and resolves to the position reached', async () => {
		const { source, seen, stop, run } = setUp();
		const end = run(0);
		source.add(change(1), change(2), 'quiet', change(3));
		await settle();
		stop.abort();
		expect(numberOf(await end)).toBe(4);
		expect(seen).toEqual([1, 2, 'idle 3', 3]);
		expect(source.live).toBe(0);
	});

	it('starts from now without a position', async () => {
		const { source, seen, stop, run } = setUp();
		source.add(change(1));
		const end = run();
		await settle();
		source.add(change(2));
		await settle();
		stop.abort();
		expect(numberOf(await end)).toBe(2);
		expect(seen).toEqual([2]);
	});

	it('calls the handler one call at a time, and drops nothing for a slow one (D8, row 58)', async () => {
		let atWork = 0;
		let most = 0;
		const seen: unknown[] = [];
		const { source, stop, run } = setUp({
			handler: {
				async change(one) {
					most = Math.max(most, ++atWork);
					await new Promise((resolve) => setImmediate(resolve));
					seen.push(one.key);
					atWork -= 1;
				},
			},
		});
		const end = run(0);
		source.add(...Array.from({ length: 50 }, (_, index) => change(index)));
		while (seen.length < 50) {
			expect(source.reads).toBeLessThanOrEqual(seen.length + 1);
			await settle();
		}
		stop.abort();
		await end;
		expect(most).toBe(1);
		expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index));
	});

	it('ends with the error of a handler that throws, before that change (rows 19, 24)', async () => {
		const failure = new Error('full');
		const { source, consumer, run } = setUp({
			handler: {
				change: (one) => {
					if (one.key === 2) throw failure;
				},
			},
		});
		const end = run(0);
		source.add(change(1), change(2));
		await expect(end).rejects.toBe(failure);
		expect(numberOf(consumer.position)).toBe(1);
		expect(source.live).toBe(0);
	});

	it('waits for the handler at work when it is stopped', async () => {
		let finish = (): void => {};
		const { source, stop, run } = setUp({
			handler: { change: () => new Promise<void>((resolve) => (finish = resolve)) },
		});
		const end = run(0);
		source.add(change(1), change(2));
		await settle();
		stop.abort();
		let isOver = false;
		end.then(() => (isOver = true));
		await settle();
		expect(isOver).toBe(false);
		finish();
		expect(numberOf(await end)).toBe(1);
	});

	it('opens again after the position last reached, with a growing wait', async () => {
		const { source, clock, seen, notes, stop, run } = setUp();
		const end = run(0);
		source.add(change(1));
		await settle();
		source.openFailures.push(new Error('one'), new Error('two'));
		source.fail(new Error('lost'));
		await settle();
		source.add(change(2));
		for (const wait of [100, 200, 400]) {
			const before = source.opened.length;
			clock.advance(wait - 1);
			await settle();
			expect(source.opened.length).toBe(before);
			clock.advance(1);
			await settle();
			expect(source.opened.length).toBe(before + 1);
			expect(source.opened.at(-1)?.from).toBe(1);
		}
		expect(seen).toEqual([1, 2]);
		expect(notes.filter(([name]) => name === 'reopened')).toEqual([['reopened', 'error']]);
		stop.abort();
		await end;
	});

	it('fires the pending attempt when the page comes back (row 4)', async () => {
		const { source, clock, page, stop, run } = setUp();
		source.openFailures.push(...Array.from({ length: 7 }, () => new Error('down')));
		const end = run(0);
		for (let turn = 0; turn < 6; turn++) {
			await settle();
			clock.advance(5_000);
		}
		await settle();
		expect(source.opened.length).toBe(7);
		page.listener?.wake('visible');
		await settle();
		expect(source.opened.length).toBe(8);
		expect(source.live).toBe(1);
		stop.abort();
		await end;
		expect(page.listener).toBeUndefined();
		expect(clock.timers.size).toBe(0);
	});

	it('tells lost history once, before what follows, and counts one such reopening (D2, rows 17, 18)', async () => {
		const { source, seen, notes, stop, run } = setUp();
		source.add(change(1), change(2), change(3));
		source.first = 3;
		const end = run(1);
		await settle();
		source.add(change(4));
		await settle();
		expect(seen).toEqual(['gap 1', 4]);
		expect(notes.filter(([name]) => name === 'reopened')).toEqual([['reopened', 'history_lost']]);
		stop.abort();
		expect(numberOf(await end)).toBe(4);
	});

	it('ends with HistoryLostError when told to, or when it is lost at one position again and again (row 26)', async () => {
		const once = setUp({ onHistoryLost: 'stop' });
		once.source.first = 3;
		await expect(once.run(1)).rejects.toBeInstanceOf(HistoryLostError);
		expect(numberOf(once.consumer.position)).toBe(1);
		const often = setUp();
		often.source.openFailures.push(...Array.from({ length: 3 }, () => new HistoryLostError('gone')));
		const end = often.run(1);
		await settle();
		often.clock.advance(100);
		await expect(end).rejects.toBeInstanceOf(HistoryLostError);
		expect(often.source.opened.length).toBe(3);
	});

	it('ends when trying again is of no use', async () => {
		const { source, run } = setUp();
		const failure = new ClosedError('closed');
		source.openFailures.push(failure);
		await expect(run(0)).rejects.toBe(failure);
	});

	it('opens again when another set is watched, also from within the handler, and not for the same one', async () => {
		const { source, notes, consumer, stop, run } = setUp({
			handler: { change: () => consumer.setWatched({ collections: ['orders', 'customers'] }) },
		});
		const end = run(0);
		await settle();
		consumer.setWatched({ collections: ['orders', 'orders'] });
		await settle();
		expect(source.opened.length).toBe(1);
		source.add(change(1), change(2));
		await settle();
		expect(source.opened.map((one) => one.from)).toEqual([0, 1]);
		expect(source.opened[1]?.watched.collections).toEqual(['orders', 'customers']);
		expect(source.mostLive).toBe(1);
		expect(notes.filter(([name]) => name === 'reopened')).toEqual([['reopened', 'set_changed']]);
		expect(() => consumer.setWatched({ collections: [''] })).toThrow(InvalidError);
		consumer.setWatched({});
		await settle();
		expect(source.live).toBe(0);
		stop.abort();
		await end;
	});

	it('closes a stream that opens after it was given up (row 61)', async () => {
		const { source, consumer, stop, run } = setUp();
		let open = (): void => {};
		source.gate = new Promise((resolve) => (open = resolve));
		const end = run(0);
		await settle();
		consumer.setWatched({ collections: ['customers'] });
		await settle();
		open();
		await settle();
		expect(source.opened.length).toBe(2);
		expect(source.live).toBe(1);
		stop.abort();
		await end;
		expect(source.live).toBe(0);
	});

	it('shows of a system change key, op and field names only, whatever the source gives', async () => {
		const got: RowChange[] = [];
		const leak = change(1, {
			...{ op: 'update', namespace: { collection: 'users' }, before: { password: 'x' } },
			...{ after: { password: 'y' }, fields: ['password'], version: 7 },
		});
		Object.assign(leak, { secret: 'z' });
		const { source, stop, run } = setUp({
			handler: { change: (one) => void got.push(one) },
			watched: { system: ['users'] },
		});
		const end = run(0);
		source.add(leak);
		await settle();
		stop.abort();
		await end;
		expect(got).toHaveLength(1);
		expect(got[0]).toMatchObject({ key: 1, op: 'update', fields: ['password'], system: true, version: 0 });
		expect(Object.keys(got[0]!).some((key) => ['before', 'after', 'secret'].includes(key))).toBe(false);
		expect(matches(got[0]!, () => true)).toBe(false);
	});

	it('never matches a change by content that is not there', async () => {
		const got: RowChange[] = [];
		const { source, stop, run } = setUp({ handler: { change: (one) => void got.push(one) } });
		const end = run(0);
		const images = { before: { total: 1 }, after: { total: 2 } };
		source.add(
			change(1, { op: 'update', ...images, fields: ['total'], version: 3 }),
			change(2, { op: 'update', after: images.after, version: 3 }),
			change(3, { op: 'delete', after: undefined, before: images.before, fields: ['total'] }),
			change(4, { op: 'insert', after: undefined }),
		);
		await settle();
		stop.abort();
		await end;
		expect(got.map((one) => [one.complete, one.version, one.fields.length])).toEqual([
			[true, 3, 1],
			[false, 0, 0],
			[true, 1, 0],
			[false, 0, 0],
		]);
		expect(got.map((one) => matches(one, () => true))).toEqual([true, false, true, false]);
		expect(matches(got[0]!, (image) => (image as { total: number }).total === 1)).toBe(true);
		expect(matches(got[0]!, (image) => (image as { total: number }).total === 3)).toBe(false);
	});

	it('goes on when its observer throws or rejects', async () => {
		const { source, seen, stop, run } = setUp({
			observer: {
				feedState: () => {
					throw new Error('observer');
				},
				feedEvent: (() => Promise.reject(new Error('observer'))) as () => void,
			},
		});
		const end = run(0);
		source.add(change(1));
		await settle();
		stop.abort();
		await end;
		expect(seen).toEqual([1]);
	});

	it('tells its observer of events with their lag', async () => {
		const { source, clock, notes, stop, run } = setUp();
		const end = run(0);
		await settle();
		source.add(change(1, { atMicros: BigInt(clock.wall - 2_500) * 1000n }));
		await settle();
		stop.abort();
		await end;
		expect(notes).toEqual([
			['state', false, 1],
			['state', true, 1],
			['event', 'insert', false],
			['lag', 2_500],
			['state', false, 1],
		]);
	});

	it('asks a back-off of the application, and ends with its error', async () => {
		const asked: number[] = [];
		const failure = new Error('enough');
		const { source, clock, run } = setUp({
			backoff: (attempt) => {
				asked.push(attempt);
				if (attempt === 3) throw failure;
				return 7;
			},
		});
		source.openFailures.push(new Error('1'), new TransportError('2', { retryable: true }), new Error('3'));
		const end = run(0);
		for (let turn = 0; turn < 2; turn++) {
			await settle();
			clock.advance(7);
		}
		await expect(end).rejects.toBe(failure);
		expect(asked).toEqual([1, 2, 3]);
	});

	it('refuses a second run, positions that are no bytes, and to run without a handler', async () => {
		const { consumer, stop, run, source } = setUp();
		const end = run(0);
		await expect(consumer.run()).rejects.toBeInstanceOf(InvalidError);
		stop.abort();
		await end;
		await expect(consumer.run('0' as never)).rejects.toBeInstanceOf(InvalidError);
		await expect(consumer.run(new Uint8Array(70_000))).rejects.toBeInstanceOf(InvalidError);
		const bare = new Consumer({ name: 'bare', source });
		await expect(bare.run()).rejects.toBeInstanceOf(ConfigError);
		expect(() => new Consumer({ name: '', source })).toThrow(ConfigError);
	});

	it('leaves no listener and no memory behind (D8, rows 56, 62)', async () => {
		const stop = new AbortController();
		const cycle = async (): Promise<void> => {
			const { source, consumer, clock, page } = setUp();
			const own = new AbortController();
			const end = consumer.run(place(0), AbortSignal.any([own.signal]));
			source.add(change(1));
			await new Promise((resolve) => setImmediate(resolve));
			own.abort();
			await end;
			expect(clock.timers.size).toBe(0);
			expect(page.listener).toBeUndefined();
		};
		await cycle();
		const before = module.glue.inUse();
		for (let count = 0; count < 100; count++) await cycle();
		expect(module.glue.inUse()).toBe(before);
		const { consumer, source } = setUp({
			handler: {
				change: () => {
					throw new Error('stop here');
				},
			},
		});
		source.add(change(1));
		await expect(consumer.run(place(0), stop.signal)).rejects.toThrow('stop here');
		expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
	});
});
