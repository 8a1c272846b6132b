import { describe, expect, it, vi } from 'vitest';
import { Driver } from '../../../js/connect/driver.js';
import type { CredentialsSource } from '../../../js/connect/driver-types.js';
import { CancelledError, ClosedError, CommandError, TransportError } from '../../../js/errors/index.js';
import { FakeCore } from '../support/fake-core.js';
import { countedSignal, FakeClock, FakePage, FakeSockets, settled } from '../support/world.js';

const DOING = { surface: 'test', operation: 'test' };

function driver(credentials: CredentialsSource = () => ({ token: 'secret' })) {
	const core = new FakeCore();
	const sockets = new FakeSockets();
	const clock = new FakeClock();
	const page = new FakePage();
	const made = new Driver({
		core,
		url: 'ws://localhost:1/',
		openSocket: sockets.open,
		credentials,
		clock,
		lifecycle: page,
	});
	const push = (...events: Parameters<FakeCore['push']>): void => {
		core.push(...events);
		made.resume('flush');
	};
	return { core, sockets, clock, page, driver: made, push };
}

describe('sockets', () => {
	it('a dial opens one socket and its events reach the core under its generation', () => {
		const { core, sockets, push } = driver();
		push({ type: 'dial', generation: 1 });
		sockets.opened[0]!.handlers.open();
		sockets.opened[0]!.handlers.frame(Uint8Array.of(7));
		expect(core.named('opened')[0]![0]).toBe(1);
		expect(core.named('receive')[0]!.slice(0, 2)).toEqual([1, Uint8Array.of(7)]);
	});

	it('late events of an old socket are ignored and there are never two live ones', () => {
		const { core, sockets, push } = driver();
		push({ type: 'dial', generation: 1 });
		const old = sockets.opened[0]!;
		push({ type: 'drop', generation: 1 }, { type: 'dial', generation: 2 });
		expect(old.closed).toBe(true);
		expect(sockets.live).toBe(1);
		old.handlers.open();
		old.handlers.frame(Uint8Array.of(1));
		old.handlers.end(1006);
		expect(core.named('opened')).toEqual([]);
		expect(core.named('receive')).toEqual([]);
		expect(core.named('lost')).toEqual([]);
	});

	it('a dial without a drop before it closes the socket that is open', () => {
		const { sockets, push } = driver();
		push({ type: 'dial', generation: 1 }, { type: 'dial', generation: 2 });
		expect(sockets.opened.map((one) => one.closed)).toEqual([true, false]);
	});

	it('frames go to the socket that they are for, and nowhere when it is gone', () => {
		const { core, sockets, push } = driver();
		push({ type: 'dial', generation: 3 });
		core.send(2, Uint8Array.of(2));
		core.send(3, Uint8Array.of(3));
		push();
		expect(sockets.opened[0]!.sent).toEqual([Uint8Array.of(3)]);
	});

	it('a text message ends the socket and is reported as one', () => {
		const { core, sockets, push } = driver();
		push({ type: 'dial', generation: 1 });
		sockets.opened[0]!.handlers.text();
		expect(sockets.opened[0]!.closed).toBe(true);
		expect(core.named('lost')[0]!.slice(0, 2)).toEqual([1, { textMessage: true }]);
	});

	it('a close code is passed on, and the absence of one too', () => {
		const { core, sockets, push } = driver();
		push({ type: 'dial', generation: 1 });
		sockets.opened[0]!.handlers.end(1005);
		push({ type: 'dial', generation: 2 });
		sockets.opened[1]!.handlers.end(undefined);
		expect(core.named('lost').map((call) => call[1])).toEqual([{ closeCode: 1005 }, {}]);
	});

	it('a socket that may not be opened is a loss with a typed error', () => {
		const made = driver();
		made.sockets.refusal = new TransportError('refused', { retryable: false });
		made.push({ type: 'dial', generation: 1 });
		expect(made.core.named('lost')[0]![0]).toBe(1);
		expect(made.driver.status.error).toBeInstanceOf(TransportError);
	});
});

describe('time', () => {
	it('keeps one timer, for the deadline, and calls expire at it', () => {
		const { core, clock, push } = driver();
		core.deadlineAt = 100;
		push();
		push();
		expect(clock.timers.size).toBe(1);
		clock.advance(99);
		expect(core.named('expire')).toEqual([]);
		core.deadlineAt = undefined;
		clock.advance(1);
		expect(core.named('expire').length).toBe(1);
		expect(clock.timers.size).toBe(0);
	});

	it('an earlier deadline replaces the timer', () => {
		const { core, clock, push } = driver();
		core.deadlineAt = 1_000;
		push();
		core.deadlineAt = 50;
		push();
		core.expire = vi.fn(() => {
			core.deadlineAt = undefined;
		});
		clock.advance(60);
		expect(core.expire).toHaveBeenCalledTimes(1);
	});
});

describe('credentials', () => {
	it('are asked for at every login and never kept', async () => {
		const source = vi.fn(() => ({ token: 'secret' }));
		const { core, push } = driver(source);
		push({ type: 'credentials', generation: 1 });
		await settled();
		push({ type: 'credentials', generation: 2 });
		await settled();
		expect(source).toHaveBeenCalledTimes(2);
		expect(core.named('credentials').map((call) => call[0])).toEqual([1, 2]);
	});

	it('an answer to an older question is ignored, and its signal fires', async () => {
		const answers: ((value: { token: string }) => void)[] = [];
		const signals: AbortSignal[] = [];
		const { core, push } = driver((signal) => {
			signals.push(signal);
			return new Promise((resolve) => answers.push(resolve));
		});
		push({ type: 'credentials', generation: 1 });
		await settled();
		push({ type: 'credentials', generation: 2 });
		await settled();
		expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
		answers[0]!({ token: 'old' });
		answers[1]!({ token: 'new' });
		await settled();
		expect(core.named('credentials').map((call) => call.slice(0, 2))).toEqual([[2, { token: 'new' }]]);
	});

	it('a callback that rejects or throws is reported without its message', async () => {
		const { core, push } = driver(() => {
			throw new Error('token abc123 expired');
		});
		push({ type: 'credentials', generation: 1 });
		await settled();
		expect(core.named('credentialsFailed')[0]!.slice(0, 2)).toEqual([1, 'the credentials callback failed']);
	});

	it('a callback that never settles is given up when the core drops the connection', async () => {
		let signal: AbortSignal | undefined;
		const { push } = driver((given) => {
			signal = given;
			return new Promise(() => {});
		});
		push({ type: 'credentials', generation: 1 });
		await settled();
		push({ type: 'drop', generation: 1 });
		expect(signal?.aborted).toBe(true);
	});
});

describe('tickets', () => {
	it('a result resolves, a failure rejects with a typed error', async () => {
		const { core, driver: one, push } = driver();
		const good = one.run(DOING, undefined, (client, now) => client.probe(now));
		const bad = one.run(DOING, undefined, (client, now) => client.probe(now));
		const [first, second] = [...core.tickets.keys()];
		push({ type: 'result', ticket: first!, value: 42 });
		push({
			type: 'failure',
			ticket: second!,
			error: { kind: 'command', message: 'no', code: 2010, codeName: 'topic_not_found' },
		});
		expect(await good).toBe(42);
		await expect(bad).rejects.toBeInstanceOf(CommandError);
	});

	it('abort cancels the ticket, rejects with the reason as cause and leaves no listener', async () => {
		const { core, driver: one } = driver();
		const { signal, abort, listeners } = countedSignal();
		const running = one.run(DOING, signal, (client, now) => client.probe(now));
		expect(listeners()).toBe(1);
		abort();
		const error = await running.catch((caught: unknown) => caught);
		expect(error).toBeInstanceOf(CancelledError);
		expect((error as CancelledError).cause).toBe(signal.reason);
		expect(core.named('cancel').length).toBe(1);
		expect(listeners()).toBe(0);
	});

	it('no listener stays on a long-lived signal after many calls', async () => {
		const { core, driver: one } = driver();
		const { signal, listeners } = countedSignal();
		core.answer = () => 1;
		for (let i = 0; i < 100; i++) await one.run(DOING, signal, (client, now) => client.probe(now));
		expect(listeners()).toBe(0);
	});

	it('a signal that fired already sends nothing', async () => {
		const { core, driver: one } = driver();
		const refused = one.run(DOING, AbortSignal.abort(), (client, now) => client.probe(now));
		await expect(refused).rejects.toBeInstanceOf(CancelledError);
		expect(core.named('probe')).toEqual([]);
	});

	it('a call while a dial is put off fires it', () => {
		const { core, driver: one, push } = driver();
		push({ type: 'connection', state: 'waiting', attempts: 3 });
		void one.run(DOING, undefined, (client, now) => client.probe(now)).catch(() => {});
		expect(core.named('wake').map((call) => call[0])).toEqual(['call']);
	});
});

describe('the page', () => {
	it('wakes, pauses and resumes the core', () => {
		const { core, page } = driver();
		page.listener?.wake('visible');
		page.listener?.suspend('pagehide');
		page.listener?.restore('pagehide');
		page.listener?.wake('pageshow');
		expect(core.calls.map(([name, what]) => [name, what])).toEqual([
			['wake', 'visible'],
			['pause', 'pagehide'],
			['resume', 'pagehide'],
			['wake', 'pageshow'],
		]);
	});
});

describe('closing', () => {
	it('is repeatable, frees everything and fails what waits and what comes later', async () => {
		const { core, sockets, page, clock, driver: one, push } = driver();
		push({ type: 'dial', generation: 1 });
		const waiting = one.run(DOING, undefined, (client, now) => client.probe(now));
		waiting.catch(() => {});
		await Promise.all([one.close(), one.close()]);
		await one.close();
		expect(core.named('close').length).toBe(1);
		expect(core.disposed).toBe(true);
		expect(sockets.live).toBe(0);
		expect(page.listener).toBeUndefined();
		expect(clock.timers.size).toBe(0);
		await expect(waiting).rejects.toBeInstanceOf(ClosedError);
		await expect(one.run(DOING, undefined, (client, now) => client.probe(now))).rejects.toBeInstanceOf(
			ClosedError,
		);
		expect(() => one.reconnect()).toThrow(ClosedError);
	});

	it('a handler that calls back in while events are handed out does not lose any', async () => {
		const { core, driver: one, push } = driver();
		one.onStatus((status) => {
			if (status.state === 'ready') one.pause('inside');
		});
		const states: string[] = [];
		one.onStatus((status) => states.push(status.state));
		push(
			{ type: 'connection', state: 'ready', attempts: 0 },
			{ type: 'connection', state: 'paused', attempts: 0 },
		);
		expect(core.named('pause').length).toBe(1);
		expect(states).toEqual(['ready', 'paused']);
	});
});
