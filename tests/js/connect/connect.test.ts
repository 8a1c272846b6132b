import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { NO_CAPABILITIES } from '../../../js/connect/capabilities.js';
import { defaults } from '../../../js/connect/defaults.js';
import { openContext } from '../../../js/connect/open.js';
import { checkOptions, isLoopback } from '../../../js/connect/options.js';
import {
	CancelledError,
	ClosedError,
	ConfigError,
	EvictionError,
	InvalidError,
	NoStreamError,
	TimeoutError,
	TransportError,
	UnsupportedError,
} from '../../../js/errors/index.js';
import { ManagedHandle } from '../../../js/managed-handle.js';
import { Failure, FakeCore } from '../support/fake-core.js';
import { connected, FakeClock, FakePage, FakeSockets, MANAGED, settled } from '../support/world.js';

const USER = { username: 'iggy', password: 'iggy' };

describe('options that the wire cannot hold', () => {
	it.each([
		['no object', null],
		['an unknown dialect', { ...USER, dialects: ['s99'] }],
		['dialects as text', { ...USER, dialects: 's11' }],
		['no dialect', { ...USER, dialects: [] }],
		['a user name that the wire cannot hold', { username: 'u'.repeat(256), password: 'p' }],
		['a password that the wire cannot hold', { username: 'u', password: 'é'.repeat(128) }],
		['a token that the wire cannot hold', { token: 't'.repeat(256) }],
	])('refuses %s', (_, options) => {
		expect(() => checkOptions('ws://localhost', options as never)).toThrow(ConfigError);
	});
});

describe('addresses', () => {
	it.each([
		['not an address', 'nonsense'],
		['another protocol', 'https://localhost/'],
		['user info', 'wss://user:hunter2@example.com/'],
		['a user alone', 'wss://user@example.com/'],
		['a fragment', 'wss://example.com/#x'],
		['ws: to another machine', 'ws://example.com/'],
		['ws: to a host that only looks local', 'ws://localhost.example.com/'],
		['ws: to a private network', 'ws://10.0.0.1/'],
	])('refuses %s, without repeating it', (_, url) => {
		const error = (() => {
			try {
				checkOptions(url, USER);
			} catch (caught) {
				return caught;
			}
			return undefined;
		})();
		expect(error).toBeInstanceOf(ConfigError);
		expect((error as Error).message).not.toContain('hunter2');
		expect((error as Error).message).not.toContain('example.com');
	});

	it.each([
		'ws://localhost:1',
		'ws://127.0.0.1:1',
		'ws://127.1.2.3',
		'ws://[::1]:1',
		'ws://a.localhost',
		'wss://e.com',
	])('takes %s', (url) => {
		expect(checkOptions(url, USER).url).toMatch(/^wss?:/);
	});

	it('ws: to another machine is taken when it was asked for', () => {
		expect(checkOptions('ws://example.com', { ...USER, allowInsecure: true }).loopback).toBe(false);
		expect(isLoopback('127.0.0.1')).toBe(true);
	});
});

describe('options', () => {
	it.each([
		['no credentials', {}],
		['a password alone', { password: 'x' }],
		['token and password', { token: 't', ...USER }],
		['an empty token', { token: '' }],
		['a time of zero', { ...USER, connectTimeoutMs: 0 }],
		['a time that is no number', { ...USER, requestTimeoutMs: Number.NaN }],
		['retries in parts', { ...USER, publishMaxRetries: 1.5 }],
		['an empty topic name', { ...USER, changesTopic: '' }],
		['a stream with a slash', { ...USER, stream: 'a/b' }],
		['an unknown naming', { ...USER, resourceNaming: 'x' as 'bare' }],
		['no dialects', { ...USER, dialects: [] }],
		['an unknown dialect', { ...USER, dialects: ['s12' as never] }],
		['dialects as text', { ...USER, dialects: 's11' as never }],
		['a signal that is none', { ...USER, signal: 'soon' as never }],
		['null for options', null as never],
	])('refuses %s', (_, options) => {
		expect(() => checkOptions('ws://localhost', options)).toThrow(ConfigError);
	});

	it('no error and no status holds the token', async () => {
		const source = checkOptions('ws://localhost', { token: () => Promise.resolve('') });
		await expect(source.credentials(new AbortController().signal)).rejects.toThrow(ConfigError);
	});
});

describe('connecting', () => {
	function world() {
		const core = new FakeCore();
		const sockets = new FakeSockets();
		const clock = new FakeClock();
		return {
			core,
			sockets,
			clock,
			world: {
				makeCore: vi.fn(() => Promise.resolve(core)),
				socketOpener: () => Promise.resolve(sockets.open),
				lifecycle: new FakePage(),
				clock,
			},
		};
	}

	it('a server that accepts and never answers is a TimeoutError at the end of the budget', async () => {
		const { core, clock, world: parts } = world();
		const connecting = openContext('ws://localhost', { ...USER, connectTimeoutMs: 5_000 }, parts);
		connecting.catch(() => {});
		await settled();
		clock.advance(5_000);
		await settled();
		clock.advance(1_000);
		await expect(connecting).rejects.toBeInstanceOf(TimeoutError);
		expect(core.disposed).toBe(true);
	});

	it('a server that cannot be reached is a TransportError at the end of the budget', async () => {
		const { core, clock, world: parts } = world();
		core.connect = () =>
			core.push({
				type: 'connection',
				state: 'waiting',
				attempts: 1,
				error: { kind: 'transport', message: 'refused', retryable: true },
			});
		const connecting = openContext('ws://localhost', USER, parts);
		connecting.catch(() => {});
		await settled();
		clock.advance(30_000);
		await settled();
		clock.advance(1_000);
		await expect(connecting).rejects.toMatchObject({ kind: 'transport', retryable: true });
	});

	it('a refused login ends at once, with what the server said', async () => {
		const { core, world: parts } = world();
		core.connect = () => {
			core.push({
				type: 'connection',
				state: 'needs-auth',
				attempts: 1,
				error: {
					kind: 'eviction',
					message: 'the login was refused',
					code: 2,
					codeName: 'invalid_credentials',
				},
			});
		};
		await expect(openContext('ws://localhost', USER, parts)).rejects.toBeInstanceOf(EvictionError);
		expect(core.disposed).toBe(true);
	});

	it('a socket that the page may not open ends at once', async () => {
		const { core, sockets, world: parts } = world();
		sockets.refusal = new TransportError('mixed content', { retryable: false });
		core.connect = () => core.push({ type: 'dial', generation: 1 });
		await expect(openContext('ws://localhost', USER, parts)).rejects.toBe(sockets.refusal);
	});

	it('a failed probe is not fatal', async () => {
		const { core, world: parts } = world();
		core.answer = () => new Failure({ kind: 'timeout', message: 'no answer' });
		core.connect = () => core.push({ type: 'connection', state: 'ready', attempts: 0 });
		const context = await openContext('ws://localhost', USER, parts);
		expect(context.capabilities.managed).toBe(false);
	});

	it('abort gives up and frees the core', async () => {
		const { core, world: parts } = world();
		const abort = new AbortController();
		const connecting = openContext('ws://localhost', { ...USER, signal: abort.signal }, parts);
		connecting.catch(() => {});
		await settled();
		abort.abort();
		await expect(connecting).rejects.toMatchObject({ kind: 'cancelled' });
		expect(core.disposed).toBe(true);
	});

	it('bad options load no wasm', async () => {
		const { world: parts } = world();
		await expect(openContext('ws://example.com', USER, parts)).rejects.toBeInstanceOf(ConfigError);
		expect(parts.makeCore).not.toHaveBeenCalled();
	});

	it('one dial that hangs does not eat the whole budget', async () => {
		const { core, world: parts } = world();
		core.answer = () => MANAGED;
		core.connect = () => core.push({ type: 'connection', state: 'ready', attempts: 0 });
		await openContext('ws://localhost', { ...USER, connectTimeoutMs: 600_000 }, parts);
		expect(parts.makeCore.mock.calls[0]).toMatchObject([
			{ connectTimeoutMs: defaults.connectMs, loopback: true },
			undefined,
		]);
	});
});

describe('handles', () => {
	it('share the connection; closing one closes all', async () => {
		const { context, core } = await connected({ stream: 'a' });
		const laser = new ManagedHandle(context);
		const other = laser.withDefaultStream('b');
		expect(other.connection).toBe(laser.connection);
		await other.close();
		await laser.close();
		expect(core.disposed).toBe(true);
		expect(laser.connection.state).toBe('closed');
		await expect(laser.refreshCapabilities()).rejects.toMatchObject({ kind: 'closed' });
		await expect(laser.capabilities()).rejects.toMatchObject({ kind: 'closed' });
	});

	it('await using closes', async () => {
		const { context, core } = await connected();
		{
			await using laser = new ManagedHandle(context);
			expect(laser.connection.state).toBe('ready');
		}
		expect(core.disposed).toBe(true);
	});

	it('scope managed names to the default stream', async () => {
		const { context } = await connected({ stream: 'acme' });
		const laser = new ManagedHandle(context);
		expect(laser.resourceName('orders_v1')).toBe('stream:acme/orders_v1');
		expect(laser.resourceName('stream:x/y')).toBe('stream:x/y');
		expect(laser.resourceName('')).toBe('');
		expect(() => laser.resourceName(5 as never)).toThrow(InvalidError);
		expect(laser.withResourceNaming('bare').resourceName('orders_v1')).toBe('orders_v1');
		expect(laser.withDefaultStream('b').resourceName('o')).toBe('stream:b/o');
	});

	it('without a default stream a topic needs one named', async () => {
		const laser = new ManagedHandle((await connected()).context);
		expect(() => laser.topic('orders')).toThrow(NoStreamError);
		expect(laser.stream('s').topic('orders').stream).toBe('s');
		expect(laser.resourceName('x')).toBe('x');
	});

	it('names of the plane: override before announced before default', async () => {
		const plain = new ManagedHandle((await connected()).context);
		expect([plain.opsStream, plain.changesTopic]).toEqual(['_agdx', 'changes']);
		const announced = new ManagedHandle(
			(await connected({}, { ...MANAGED, topology: { opsStream: '_ops', changesTopic: 'c' } })).context,
		);
		expect([announced.opsStream, announced.changesTopic]).toEqual(['_ops', 'c']);
		const view = announced.withOpsStream('mine').withChangesTopic('feed');
		expect([view.opsStream, view.changesTopic]).toEqual(['mine', 'feed']);
		expect(() => announced.withOpsStream('')).toThrow(ConfigError);
	});

	it('under stream tenancy the feed is the stream’s own', async () => {
		const { context } = await connected(
			{ stream: 's', changesTopic: 'x' },
			{ ...MANAGED, streamTenancy: true },
		);
		expect(context.feedTopic).toEqual({ stream: '_agdx', topic: 'stream:s/_agdx/changes' });
		const bare = new ManagedHandle(context).withResourceNaming('bare') as unknown as {
			context: typeof context;
		};
		expect(bare.context.feedTopic).toEqual({ stream: '_agdx', topic: 'x' });
	});
});

describe('capabilities', () => {
	it('everything is off until the server says so', async () => {
		const laser = new ManagedHandle((await connected({}, { hello: 'rejected' })).context);
		expect(await laser.capabilities()).toEqual({ ...NO_CAPABILITIES, hello: 'rejected' });
		await expect(laser.watch().records()).rejects.toBeInstanceOf(UnsupportedError);
	});

	it('the held set is probed again when unmanaged and a second old, once for all who ask', async () => {
		const clock = new FakeClock();
		const { context, core } = await connected({}, { hello: 'rejected' }, clock);
		const laser = new ManagedHandle(context);
		await laser.capabilities();
		expect(core.named('probe').length).toBe(1);
		clock.advance(1_000);
		await Promise.all([laser.capabilities(), laser.capabilities()]);
		expect(core.named('probe').length).toBe(2);
	});

	it('an aborted question is a CancelledError, and a closed connection answers none', async () => {
		const { context } = await connected();
		const handle = new ManagedHandle(context);
		await expect(handle.capabilities(AbortSignal.abort())).rejects.toBeInstanceOf(CancelledError);
		await handle.close();
		await expect(handle.capabilities()).rejects.toBeInstanceOf(ClosedError);
	});

	it('the time to be ready in is a number', async () => {
		const { context } = await connected();
		for (const bad of [-1, Number.NaN, '5', 5n, undefined] as never[]) {
			await expect(new ManagedHandle(context).waitUntilReady(bad)).rejects.toBeInstanceOf(InvalidError);
		}
	});

	it('a managed set is not probed again by asking', async () => {
		const clock = new FakeClock();
		const { context, core } = await connected({}, MANAGED, clock);
		clock.advance(60_000);
		await new ManagedHandle(context).capabilities();
		expect(core.named('probe').length).toBe(1);
	});

	it('every new session probes, and a change is an event', async () => {
		const { context, core } = await connected();
		const laser = new ManagedHandle(context);
		const seen: boolean[] = [];
		laser.connection.addEventListener('capabilities', (event) => seen.push(event.capabilities.watch));
		core.answer = () => ({ ...MANAGED, watch: false });
		core.push(
			{ type: 'connection', state: 'dialing', attempts: 1 },
			{ type: 'connection', state: 'ready', attempts: 0 },
		);
		laser.connection.resume('flush');
		await settled();
		expect(core.named('probe').length).toBe(2);
		expect(seen).toEqual([false]);
	});

	it('an override wins over what the server says', async () => {
		const { context } = await connected({}, { hello: 'rejected' });
		const laser = new ManagedHandle(context).withCapabilities({ watch: true, query: { available: true } });
		const caps = await laser.capabilities();
		expect(caps.watch).toBe(true);
		expect(caps.query).toMatchObject({ available: true, keyword: false });
	});
});

describe('connection', () => {
	it('tells its state by event, with what it was before', async () => {
		const { context, core } = await connected();
		const { connection } = new ManagedHandle(context);
		const seen: string[] = [];
		connection.addEventListener('state', (event) => seen.push(`${event.previous}>${event.state}`));
		core.push(
			{ type: 'connection', state: 'waiting', attempts: 2, error: { kind: 'transport', message: 'cut' } },
			{ type: 'connection', state: 'waiting', attempts: 3 },
		);
		connection.pause('user');
		expect(seen).toEqual(['ready>waiting']);
		expect(connection.attempts).toBe(3);
		expect(connection.dialect).toBe('s11');
		expect(connection.error).toBeInstanceOf(TransportError);
		expect(core.named('pause').map((call) => call[0])).toEqual(['user']);
	});
});

describe('defaults', () => {
	it('are those of the core', () => {
		const header = readFileSync(new URL('../../../src/iggy/defaults.hpp', import.meta.url), 'utf8');
		const core = new Map<string, number>();
		for (const [, name, expression] of header.matchAll(/constexpr [\w:]+ k(\w+) =\s*([^;]+);/g)) {
			const value = expression!.split('*').reduce((product, factor) => {
				// `std::size_t{8}` is 8.
				const text = factor
					.trim()
					.replace(/^[\w:]+\{(.*)\}$/, '$1')
					.replaceAll("'", '');
				return product * (text.startsWith('k') ? (core.get(text.slice(1)) ?? Number.NaN) : Number(text));
			}, 1);
			core.set(name!, value);
		}
		const micros = (ms: number) => ms * 1_000;
		expect(core.get('Watchdog')).toBe(micros(defaults.watchdogMs));
		expect(core.get('Credentials')).toBe(micros(defaults.credentialsMs));
		expect(core.get('Connect')).toBe(micros(defaults.connectMs));
		expect(core.get('Request')).toBe(micros(defaults.requestMs));
		expect(core.get('HiddenTooLong')).toBe(micros(defaults.hiddenTooLongMs));
		expect(core.get('LoopBreakerResets')).toBe(defaults.loopBreakerResets);
		expect(core.get('BatchByteCap')).toBe(defaults.batchByteCap);
	});
});
