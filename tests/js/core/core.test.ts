import { beforeAll, describe, expect, it } from 'vitest';
import type { CoreEvent } from '../../../js/core/contract.js';
import { Core } from '../../../js/core/core.js';
import { full } from '../../../js/core/full.js';
import { type CoreModule, loadCore } from '../../../js/core/load.js';

let module: CoreModule;
const now = { mono: 1000, wall: 1_700_000_000_000 };
const seed = new BigUint64Array([1n, 2n, 3n, 4n]);

function events(core: Core): CoreEvent[] {
	const all: CoreEvent[] = [];
	for (let event = core.event(); event !== undefined; event = core.event()) all.push(event);
	return all;
}

function opened(): { core: Core; generation: number } {
	const core = new Core(module, { loopback: true }, seed);
	core.connect(now);
	const dial = events(core).find((event) => event.type === 'dial');
	if (dial?.type !== 'dial') throw new Error('no dial');
	core.opened(dial.generation, now);
	return { core, generation: dial.generation };
}

beforeAll(async () => {
	module = await loadCore(full);
});

describe('the core behind the border', () => {
	it('asks to dial, then for credentials, then sends a login', () => {
		const { core, generation } = opened();
		expect(events(core)).toContainEqual({ type: 'credentials', generation });
		core.credentials(generation, { username: 'iggy', password: 'iggy' }, now);
		const sent = core.transmit();
		expect(sent?.generation).toBe(generation);
		expect(sent!.frame.length).toBeGreaterThan(256);
		core.dispose();
	});

	it('dials again after a loss, and says when', () => {
		const { core, generation } = opened();
		events(core);
		core.lost(generation, { closeCode: 1006 }, now);
		const states = events(core).filter((event) => event.type === 'connection');
		expect(states.length).toBeGreaterThan(0);
		expect(core.deadline()).toBeDefined();
		core.dispose();
	});

	it('answers a call that is refused here with a failure event, not an exception', () => {
		const { core } = opened();
		events(core);
		const ticket = core.call(302, { nonsense: 1 }, {}, now);
		const failure = events(core).find((event) => event.type === 'failure');
		expect(failure).toMatchObject({ ticket, error: { kind: 'invalid' } });
		core.dispose();
	});

	it('closing fails what waits with kind closed', () => {
		const { core } = opened();
		events(core);
		const ticket = core.call(201, null, {}, now);
		const reader = core.openReader({ stream: 's', topic: 't', mode: 'watch', content: 'changes' }, now);
		core.read(reader, {}, now);
		core.close(now);
		const all = events(core);
		expect(all).toContainEqual(
			expect.objectContaining({
				type: 'failure',
				ticket,
				error: expect.objectContaining({ kind: 'closed' }),
			}),
		);
		expect(all).toContainEqual(
			expect.objectContaining({
				type: 'reader-failure',
				reader,
				error: expect.objectContaining({ kind: 'closed' }),
			}),
		);
		core.dispose();
	});

	it.each([2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n])('offset %s goes in and comes out exact', (offset) => {
		const { core } = opened();
		const reader = core.openReader(
			{ stream: 's', topic: 't', mode: 'durable', content: 'records', from: new Map([[3, offset]]) },
			now,
		);
		expect(core.positions(reader).get(3)).toBe(offset);
		core.seek(reader, new Map([[4, offset - 1n]]), undefined);
		expect(core.positions(reader).get(4)).toBe(offset - 1n);
		core.dispose();
	});

	it('the place after offset 2^64-1 is told from the one before it', () => {
		const { core } = opened();
		const open = (from: bigint) =>
			core.openReader(
				{ stream: 's', topic: 't', mode: 'durable', content: 'records', from: new Map([[0, from]]) },
				now,
			);
		expect(core.positions(open(2n ** 64n)).get(0)).toBe(2n ** 64n);
		expect(core.positions(open(2n ** 64n - 1n)).get(0)).toBe(2n ** 64n - 1n);
		expect(() => open(2n ** 64n + 1n)).toThrowError(expect.objectContaining({ field: 'from' }));
		core.dispose();
	});

	it('refuses unusable reader options with a typed error', () => {
		const { core } = opened();
		expect(() =>
			core.openReader({ stream: '', topic: 't', mode: 'watch', content: 'changes' }, now),
		).toThrowError(expect.objectContaining({ kind: 'invalid', field: 'stream' }));
		core.dispose();
	});

	it('a frame that is longer than any may be ends the connection, not the module', () => {
		const { core, generation } = opened();
		events(core);
		core.receive(generation, new Uint8Array(65 * 1024 * 1024), now);
		expect(events(core)).toContainEqual({ type: 'drop', generation });
		core.dispose();
	});

	it('a large frame grows the memory during the call, and what comes out is whole', () => {
		const { core, generation } = opened();
		const before = module.memory.size();
		core.receive(generation, new Uint8Array(40 * 1024 * 1024), now);
		expect(module.memory.size()).toBeGreaterThan(before);
		expect(events(core).length).toBeGreaterThan(0);
		core.dispose();
	});

	it('what it hands out outlives later calls', () => {
		const { core, generation } = opened();
		core.credentials(generation, { username: 'iggy', password: 'iggy' }, now);
		const frame = core.transmit()!.frame;
		const copy = frame.slice();
		core.receive(generation, new Uint8Array(8 * 1024 * 1024).fill(255), now);
		expect(frame).toEqual(copy);
		core.dispose();
	});

	it('using it after dispose is a named error, disposing twice is fine', () => {
		const { core } = opened();
		core.dispose();
		core.dispose();
		expect(() => core.connect(now)).toThrowError(expect.objectContaining({ kind: 'closed' }));
	});

	it('gives all memory back: 100,000 clients leave nothing behind', () => {
		const cycle = () => {
			const { core } = opened();
			core.openReader({ stream: 's', topic: 't', mode: 'durable', content: 'records' }, now);
			core.call(201, null, {}, now);
			core.dispose();
		};
		for (let i = 0; i < 100; i++) cycle();
		const baseline = module.glue.inUse();
		const size = module.memory.size();
		for (let i = 0; i < 100_000; i++) cycle();
		expect(module.glue.inUse()).toBe(baseline);
		expect(module.memory.size()).toBe(size);
	}, 120_000);
});
