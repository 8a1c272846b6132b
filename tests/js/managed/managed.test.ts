import { describe, expect, it } from 'vitest';
import {
	type BackendDescriptor,
	backend,
	enabledBackends,
	isOpenOnly,
	isReady,
	NO_CAPABILITIES,
	readinessReasons,
	servesConsistency,
	unreadyBackends,
} from '../../../js/connect/capabilities.js';
import type { Context } from '../../../js/connect/context.js';
import { ManagedId } from '../../../js/connect/identity.js';
import { InvalidError, QueryError, UnsupportedError } from '../../../js/errors/index.js';
import {
	Bindings,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	Projections,
} from '../../../js/managed/index.js';
import { Failure } from '../support/fake-core.js';
import { connected, MANAGED } from '../support/world.js';

const projection = new ProjectionBuilder('orders_v1.v1')
	.name('orders')
	.contentType('json')
	.field('id')
	.field('a/b')
	.build();

async function setUp(answer: (command: number, args: unknown) => unknown = () => null) {
	const { core, context } = await connected({ stream: 'acme' });
	core.answer = (name, command, args) => (name === 'call' ? answer(command as number, args) : undefined);
	return {
		core,
		context: context as Context,
		calls: () => core.named('call').map(([command, args]) => [command, args]),
	};
}

describe('projections', () => {
	it('the builder keeps payloads unless told not to, and escapes pointers', () => {
		expect(projection).toEqual({
			id: 'orders_v1.v1',
			name: 'orders',
			version: 1,
			kind: 0,
			contentType: 'json',
			extraction: {
				fields: [
					{ name: 'id', pointer: '/id' },
					{ name: 'a/b', pointer: '/a~1b' },
				],
				inlinePayload: true,
			},
			inlinePayloadDefault: true,
		});
		const bare = new ProjectionBuilder('x').indexOnly().build();
		expect([bare.inlinePayloadDefault, bare.extraction.inlinePayload]).toEqual([false, false]);
	});

	it('what is no projection or binding is refused before anything is sent', async () => {
		const { core, context } = await connected();
		for (const bad of [null, {}, 'orders']) {
			await expect(new Projections(context).register(bad as never)).rejects.toBeInstanceOf(InvalidError);
			await expect(new Bindings(context).apply(bad as never)).rejects.toBeInstanceOf(InvalidError);
		}
		expect(core.named('publish')).toEqual([]);
	});

	it('register and drop are control commands under scoped names', async () => {
		const { context, calls } = await setUp();
		await new Projections(context).register(projection);
		await new Projections(context).drop('orders_v1.v1');
		const id = 'stream:acme/orders_v1.v1';
		const envelope = { v: 1, timestampMicros: 0n, stream: 'acme' };
		expect(calls()).toEqual([
			[1_000_108, { ...envelope, command: { RegisterProjection: { ...projection, id } } }],
			[1_000_108, { ...envelope, command: { DropProjection: id } }],
		]);
	});

	it('a graph is not registered as a projection; nothing is sent', async () => {
		const { context, calls } = await setUp();
		await expect(new Projections(context).register({ ...projection, kind: 1 })).rejects.toBeInstanceOf(
			InvalidError,
		);
		expect(calls()).toEqual([]);
	});

	it('get and list speak local names and leave out other streams', async () => {
		const wire = (id: string) => ({
			projection: { ...projection, id },
			bindings: [
				{
					source: { stream: 'acme', topic: 'orders' },
					allowedProjections: [id],
					defaultProjection: null,
					index: 'stream:acme/orders_v1',
				},
			],
		});
		const { context, calls } = await setUp((command) =>
			command === 1_000_210
				? wire('stream:acme/p')
				: [wire('stream:acme/p'), wire('stream:other/p'), wire('p')],
		);
		const found = await new Projections(context).get('p');
		expect(found?.projection.id).toBe('p');
		expect(found?.bindings[0]).toEqual({
			source: { stream: 'acme', topic: 'orders' },
			allowedProjections: ['p'],
			index: 'orders_v1',
		});
		const all = await new Projections(context).list().forTopic('orders').idPrefix('o').search('x').fetch();
		expect(all.map((one) => one.projection.id)).toEqual(['p']);
		expect(calls()[1]).toEqual([
			1_000_211,
			{ v: 1, idPrefix: 'stream:acme/o', search: 'x', topics: ['orders'] },
		]);
	});

	it('what is not there is undefined, what is refused is typed', async () => {
		expect(await new Projections((await setUp()).context).get('p')).toBeUndefined();
		const refused = await setUp(
			() => new Failure({ kind: 'surface', message: 'no', surface: 'browse', detail: { Backend: 'down' } }),
		);
		const error = await new Projections(refused.context).get('p').catch((caught: unknown) => caught);
		expect(error).toBeInstanceOf(QueryError);
		expect(error).toMatchObject({ variant: 'Backend', detail: 'down' });
	});

	it('a server without a managed plane is refused before anything is sent', async () => {
		const { core, context } = await connected({}, { hello: 'rejected' });
		await expect(new Projections(context).register(projection)).rejects.toBeInstanceOf(UnsupportedError);
		await expect(new Projections(context).get('p')).rejects.toBeInstanceOf(UnsupportedError);
		expect(core.named('call')).toEqual([]);
	});
});

describe('bindings', () => {
	it('the builder names the index like the topic and opts into nothing', () => {
		expect(new ProjectionBindingBuilder().source('s', 'orders').build()).toEqual({
			source: { stream: 's', topic: 'orders' },
			allowedProjections: [],
			index: 'orders',
		});
		expect(() => new ProjectionBindingBuilder().build()).toThrow(InvalidError);
	});

	it('apply and remove are control commands under scoped names', async () => {
		const { context, calls } = await setUp();
		const id = ManagedId.parse('0000000000000000000000000Z');
		const binding = new ProjectionBindingBuilder()
			.source('acme', 'orders')
			.allow('p')
			.defaultProjection('p')
			.index('orders_v1')
			.notify()
			.retention({ kind: 'max_rows', rows: 5n })
			.backend(id, 2n)
			.build();
		await new Bindings(context).apply(binding);
		await new Bindings(context).remove(binding.source);
		expect(calls().map(([, args]) => (args as { command: unknown }).command)).toEqual([
			{
				ApplyBinding: {
					source: { stream: 'acme', topic: 'orders' },
					allowedProjections: ['stream:acme/p'],
					defaultProjection: 'stream:acme/p',
					index: 'stream:acme/orders_v1',
					notify: true,
					retention: { kind: 'max_rows', rows: 5n },
					backend: { resourceId: id.toBytes(), generation: 2n },
				},
			},
			{ RemoveBinding: { source: { stream: 'acme', topic: 'orders' }, projectionRef: null } },
		]);
	});
});

describe('identities', () => {
	it('round-trip between bytes and text, at the ends too', () => {
		for (const bytes of [
			new Uint8Array(16),
			new Uint8Array(16).fill(255),
			Uint8Array.from({ length: 16 }, (_, i) => i),
		]) {
			const id = ManagedId.fromBytes(bytes);
			expect(id.toBytes()).toEqual(bytes);
			expect(id.toString().length).toBe(26);
			expect(ManagedId.parse(id.toString().toLowerCase()).equals(id)).toBe(true);
		}
		expect(ManagedId.fromBytes(new Uint8Array(16).fill(255)).toString()).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ');
	});

	it('refuses what is none', () => {
		expect(() => ManagedId.fromBytes(new Uint8Array(15))).toThrow(InvalidError);
		for (const bad of ['', '8ZZZZZZZZZZZZZZZZZZZZZZZZZ', '0000000000000000000000000U', '0'.repeat(25)]) {
			expect(() => ManagedId.parse(bad)).toThrow(InvalidError);
		}
	});
});

describe('readiness', () => {
	const descriptor = (n: number, desiredState: string, observedState: string, ready: boolean) =>
		({
			resourceId: ManagedId.fromBytes(new Uint8Array(16).fill(n)),
			desiredState,
			observedState,
			readiness: { ready, reasons: ready ? [] : [{ code: 'probe_failed' }], observedAtMicros: 1n },
		}) as unknown as BackendDescriptor;

	it('is every enabled backend ready, disabled ones aside', () => {
		const ready = {
			...MANAGED,
			backends: [descriptor(1, 'enabled', 'ready', true), descriptor(2, 'disabled', 'disabled', false)],
		};
		expect(isReady(ready)).toBe(true);
		expect(enabledBackends(ready).length).toBe(1);
		const starting = { ...ready, backends: [...ready.backends, descriptor(3, 'enabled', 'starting', false)] };
		expect(isReady(starting)).toBe(false);
		expect(unreadyBackends(starting).length).toBe(1);
		const id = starting.backends[2]!.resourceId;
		expect(backend(starting, id.toString())).toBe(starting.backends[2]);
		expect(readinessReasons(starting, id)).toEqual([{ code: 'probe_failed' }]);
		expect(isReady({ ...MANAGED, backends: [] })).toBe(false);
		expect(isReady({ ...ready, managed: false })).toBe(false);
	});

	it('levels are ordered and need queries at all', () => {
		const caps = {
			...MANAGED,
			query: { ...MANAGED.query, available: true, consistency: 'read_your_writes' as const },
		};
		expect(servesConsistency(caps, 'eventual')).toBe(true);
		expect(servesConsistency(caps, 'read_your_writes')).toBe(true);
		expect(servesConsistency(caps, 'strong')).toBe(false);
		expect(servesConsistency(MANAGED, 'eventual')).toBe(false);
	});

	it('open only is everything off, whatever the probe said', () => {
		expect(isOpenOnly({ ...NO_CAPABILITIES, hello: 'rejected' })).toBe(true);
		expect(isOpenOnly(MANAGED)).toBe(false);
	});
});
