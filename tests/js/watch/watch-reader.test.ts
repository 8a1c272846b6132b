import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { CancelledError, ClosedError, InvalidError } from '../../../js/errors/index.js';
import { TopicReader } from '../../../js/topic/topic-reader.js';
import { offsetsFromJSON, offsetsToJSON } from '../../../js/watch/offsets.js';
import { Watch } from '../../../js/watch/watch.js';
import { FakeCore } from '../support/fake-core.js';
import { connected, countedSignal, settled } from '../support/world.js';

async function reader(index = 'orders_v1') {
	const { core, context } = await connected();
	core.append(0n, 1n, 2n);
	return { core, context, reader: await new Watch(context).index(index).records() };
}

describe('a reader of the change feed', () => {
	it('opening does no I/O; offsets are empty before the first poll', async () => {
		const { core, reader: feed } = await reader();
		expect(core.named('openReader')).toEqual([]);
		expect(feed.offsets.size).toBe(0);
	});

	it('polls what came since the last poll', async () => {
		const { core, reader: feed } = await reader();
		expect(await feed.poll()).toEqual(
			[0n, 1n, 2n].map((offset) => ({
				v: 1,
				index: 'orders_v1',
				partitionId: 0,
				fromOffset: offset,
				toOffset: offset,
				rows: 1,
			})),
		);
		expect(await feed.poll()).toEqual([]);
		core.append(3n);
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([3n]);
		expect(feed.offsets).toEqual(new Map([[0, 4n]]));
	});

	it('asks for the scoped index at the feed’s place, in watch mode', async () => {
		const { core, context } = await connected({ stream: 'acme' });
		await (await new Watch(context, context.resourceName('orders_v1')).records()).poll();
		expect(core.named('openReader')[0]![0]).toMatchObject({
			stream: '_agdx',
			topic: 'changes',
			mode: 'watch',
			content: 'changes',
			index: 'stream:acme/orders_v1',
			from: 'beginning',
		});
	});

	it('a failed poll moves nothing: the next returns everything', async () => {
		const { core, reader: feed } = await reader();
		core.failRead = { kind: 'transport', message: 'cut' };
		await expect(feed.poll()).rejects.toMatchObject({ kind: 'transport' });
		expect(feed.offsets.size).toBe(0);
		expect((await feed.poll()).length).toBe(3);
	});

	it('an aborted poll moves nothing and leaves no listener', async () => {
		const { core, reader: feed } = await reader();
		core.serve = () => {};
		const { signal, abort, listeners } = countedSignal();
		const polling = feed.poll({ signal });
		await settled();
		abort();
		await expect(polling).rejects.toBeInstanceOf(CancelledError);
		expect(listeners()).toBe(0);
		core.serve = FakeCore.prototype.serve;
		expect((await feed.poll(signal).catch((error: unknown) => error)) instanceof CancelledError).toBe(true);
		expect((await feed.poll()).length).toBe(3);
	});

	it('polls that overlap run one after another', async () => {
		const { reader: feed } = await reader();
		const [first, second] = await Promise.all([feed.poll(), feed.poll()]);
		expect([first.length, second.length]).toEqual([3, 0]);
	});

	it('goes on from saved offsets, as map or list, and gives out copies', async () => {
		const { reader: feed } = await reader();
		feed.fromOffsets([2n, 7n]);
		expect(feed.offsets).toEqual(
			new Map([
				[0, 2n],
				[1, 7n],
			]),
		);
		(feed.offsets as Map<number, bigint>).clear();
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([2n]);
		feed.fromOffsets(new Map([[0, 1n]]));
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([1n, 2n]);
	});

	it('refuses offsets that are none', async () => {
		const { reader: feed } = await reader();
		const holes: bigint[] = [1n];
		holes[2] = 1n;
		for (const bad of [[-1n], [1.5], [2n ** 64n], new Map([[-1, 0n]]), holes, null, {}, '12'] as never[]) {
			expect(() => feed.fromOffsets(bad)).toThrow(InvalidError);
		}
		expect(() => feed.batch(0)).toThrow(InvalidError);
	});

	it('stream yields record by record and ends when caught up, not at a poll of foreign records', async () => {
		const { core, reader: feed } = await reader();
		const serve = core.serve.bind(core);
		let foreign = 2;
		core.serve = (id) => {
			const one = core.readers.get(id)!;
			if (foreign-- > 0) {
				one.positions = new Map([[0, (one.positions.get(0) ?? 0n) + 0n]]);
				core.log = core.log.slice(1);
				const next = (one.positions.get(0) ?? 0n) + 1n;
				one.positions.set(0, next);
				one.isReading = false;
				const { gaps, columns } = emptyBatch();
				core.push({
					type: 'batch',
					reader: id,
					batch: {
						columns,
						gaps,
						positions: new Map([[0, next]]),
						identity: undefined,
						caughtUp: false,
						skipped: { malformed: 0, version: 0, otherIndex: 2 - foreign },
						unreadPartitions: 0,
					},
				});
				return;
			}
			serve(id);
		};
		const seen: bigint[] = [];
		for await (const change of feed.stream()) seen.push(change.fromOffset);
		expect(seen).toEqual([2n]);
	});

	it('leaving a stream early gives the rest back: offsets pass only what was handed over', async () => {
		const { reader: feed } = await reader();
		for await (const change of feed.stream()) {
			expect(change.fromOffset).toBe(0n);
			break;
		}
		expect(feed.offsets).toEqual(new Map([[0, 1n]]));
		await expect(
			(async () => {
				for await (const _ of feed.stream()) throw new Error('handler');
			})(),
		).rejects.toThrow('handler');
		expect(feed.offsets).toEqual(new Map([[0, 2n]]));
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([2n]);
	});

	it('a poll while a stream hands over goes on after its batch, and neither moves the other back', async () => {
		const { core, reader: feed } = await reader();
		const stream = feed.stream();
		expect((await stream.next()).value?.fromOffset).toBe(0n);
		core.append(3n);
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([3n]);
		expect((await stream.next()).value?.fromOffset).toBe(1n);
		expect(feed.offsets).toEqual(new Map([[0, 4n]]));
		await stream.return();
		expect(feed.offsets).toEqual(new Map([[0, 4n]]));
	});

	it('an abort that comes when the answer is there already takes nothing away', async () => {
		const { core, reader: feed } = await reader();
		const serve = core.serve.bind(core);
		const abort = new AbortController();
		core.serve = (id) => {
			serve(id);
			// After the answer was taken, before the caller has it.
			Promise.resolve().then(() => abort.abort());
		};
		const changes = await feed.poll(abort.signal).catch(() => []);
		const rest = await feed.poll();
		expect([...changes, ...rest].map((change) => change.fromOffset)).toEqual([0n, 1n, 2n]);
	});

	it('a signal of another frame is a signal', async () => {
		const { reader: feed } = await reader();
		const { signal } = vm.runInNewContext('({ signal: new S() })', {
			S: class {
				aborted = true;
				reason = 'theirs';
				addEventListener(): void {}
				removeEventListener(): void {}
			},
		}) as { signal: AbortSignal };
		await expect(feed.poll(signal)).rejects.toBeInstanceOf(CancelledError);
		expect((await feed.poll()).length).toBe(3);
	});

	it('an index without a name is refused, and so is a reader of a closed connection', async () => {
		const { context } = await connected();
		const watch = new Watch(context);
		for (const bad of ['', 5, undefined] as never[]) expect(() => watch.index(bad)).toThrow(InvalidError);
		await context.driver.close();
		await expect(watch.records()).rejects.toBeInstanceOf(ClosedError);
	});

	it('frees its reader on close and opens again by itself', async () => {
		const { core, reader: feed } = await reader();
		await feed.poll();
		feed.close();
		expect(core.readers.size).toBe(0);
		core.append(3n);
		expect((await feed.poll()).map((change) => change.fromOffset)).toEqual([3n]);
	});
});

describe('a reader of any topic', () => {
	it('gives records with id, offsets, times, payload, text and JSON', async () => {
		const { core, context } = await connected({}, { hello: 'rejected' });
		core.append(2n ** 64n - 3n, 4n);
		const [first, second] = await new TopicReader(context, { stream: 's', topic: 't' }).poll();
		expect(first!.offset).toBe(2n ** 64n - 3n);
		expect(first!.json()).toEqual({ offset: '18446744073709551613' });
		expect(first!.timestampMicros).toBe(1_700_000_000_000_000n);
		expect(second!.text()).toBe('no json');
		expect(() => second!.json()).toThrow(/record 0:4: not JSON/);
		expect(core.named('openReader')[0]![0]).toMatchObject({ stream: 's', topic: 't', content: 'records' });
	});

	it('with a schema, misfits are counted and reported and their offsets read past', async () => {
		const { core, context } = await connected();
		core.append(3n, 4n, 5n);
		const topic = new TopicReader(
			context,
			{ stream: 's', topic: 't' },
			{
				schema: { '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value }) } },
			},
		);
		const reported: bigint[] = [];
		topic.addEventListener('misfit', (event) => reported.push(event.offset));
		expect((await topic.poll()).map((record) => record.value)).toEqual([{ offset: '3' }, { offset: '5' }]);
		expect(topic.misfits).toBe(1);
		expect(reported).toEqual([4n]);
		expect(topic.offsets.get(0)).toBe(6n);
	});
});

describe('offsets as JSON', () => {
	it.each([
		new Map([
			[0, 2n ** 53n + 1n],
			[1023, 2n ** 64n - 1n],
		]),
		[0n, 2n ** 63n],
		new Map(),
		[],
	])('round-trips %s', (offsets) => {
		expect(offsetsFromJSON(offsetsToJSON(offsets))).toEqual(offsets);
		expect(offsetsFromJSON(JSON.parse(offsetsToJSON(offsets)))).toEqual(offsets);
	});

	it('refuses what it did not write', () => {
		for (const bad of [
			'{',
			'3',
			'null',
			'{"0":1}',
			'["-1"]',
			'{"x":"1"}',
			'["1e3"]',
			'{"":"1"}',
			'{"1e1":"1"}',
			'{"1":"1","01":"2"}',
			'["18446744073709551616"]',
			'{"":"5"}',
			'{" 1":"5"}',
			'{"0x1":"5"}',
			'{"1e0":"5"}',
			'{"1":"5","01":"6"}',
		]) {
			expect(() => offsetsFromJSON(bad), bad).toThrow(InvalidError);
		}
	});

	it('refuses what is no map and no list, and a list with holes', async () => {
		const { reader: feed } = await reader();
		feed.fromOffsets([7n]);
		const holed: bigint[] = [];
		holed[1] = 1n;
		for (const bad of [null, undefined, 5, { 0: 1n }, new Set([1n]), holed]) {
			expect(() => feed.fromOffsets(bad as never)).toThrow(InvalidError);
		}
		expect(feed.offsets).toEqual(new Map([[0, 7n]]));
	});
});

describe('a watch', () => {
	it('of no index is refused: nothing would ever match it', async () => {
		const { context } = await connected();
		expect(() => new Watch(context).index('')).toThrow(InvalidError);
		expect(() => new Watch(context).index(5 as never)).toThrow(InvalidError);
	});
});

function emptyBatch() {
	return {
		gaps: [],
		columns: {
			kind: 'changes' as const,
			count: 0,
			feedPartitionId: new Uint32Array(),
			offset: new BigUint64Array(),
			timestampMicros: new BigUint64Array(),
			partitionId: new Uint32Array(),
			fromOffset: new BigUint64Array(),
			toOffset: new BigUint64Array(),
			rows: new Uint32Array(),
			index: new Uint32Array(),
			stream: new Uint32Array(),
			names: [],
		},
	};
}
