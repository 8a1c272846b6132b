import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Laser } from '../../js/index.js';
import { type Clock, systemClock } from '../../js/platform/clock.js';
import type { Lifecycle, PageListener } from '../../js/platform/lifecycle.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { Follower } from './support/follower.js';
import { DIALECTS, type Reached, reach } from './support/ways.js';
import { append, connectCounted, range, SocketCount, sleep, USER, until } from './support/world.js';

const TWO_HOURS = 2 * 3_600_000;
const WATCHDOG = 3_000;
/** What a busy machine may take for what should take no time. */
const SLACK = 700;

/** Sleeps without taking time. The monotonic clock stands still meanwhile on some systems and goes on on others. */
class SleepingClock implements Clock {
	#slept = 0;
	constructor(readonly monotonicSleeps: boolean) {}
	readonly after = systemClock.after;
	now() {
		const { mono, wall } = systemClock.now();
		return { mono: this.monotonicSleeps ? mono : mono + this.#slept, wall: wall + this.#slept };
	}
	sleep(ms: number): void {
		this.#slept += ms;
	}
}

class Page implements Lifecycle {
	listener: PageListener | undefined;
	listen(listener: PageListener): () => void {
		this.listener = listener;
		return () => {
			this.listener = undefined;
		};
	}
}

const CASES = DIALECTS.flatMap((dialect) => [
	{ dialect, monotonicSleeps: true, which: 'stands still' },
	{ dialect, monotonicSleeps: false, which: 'goes on' },
]);

describe.each(CASES)('$dialect, and a monotonic clock that $which', ({ dialect, monotonicSleeps }) => {
	let reached: Reached;
	let proxy: FaultProxy;
	let count: SocketCount;
	let laser: Laser;
	let clock: SleepingClock;
	let page: Page;
	let follower: Follower;
	let topic: string;
	let topics = 0;
	const place = () => ({ stream: 'shop', topic });

	beforeAll(async () => {
		reached = await reach({ name: dialect, dialect, gateway: false });
	});
	afterAll(() => reached?.close());
	beforeEach(async () => {
		topic = `t${topics++}`;
		await reached.server.log.ensureTopic('shop', topic, 1);
		await append(reached.server, place(), range(0, 10));
		proxy = await FaultProxy.start(reached.url);
		count = new SocketCount();
		clock = new SleepingClock(monotonicSleeps);
		page = new Page();
		laser = await connectCounted(
			proxy.ws,
			{ ...USER, stream: 'shop', dialects: [dialect], watchdogMs: WATCHDOG },
			count,
			{ clock, lifecycle: page },
		);
		follower = new Follower(laser, topic);
		await follower.reach(10);
	});
	afterEach(async () => {
		await follower.stop();
		await laser.close();
		await proxy.close();
		expect(count.most).toBe(1);
		expect(count.live).toBe(0);
		expect(follower.gaps).toEqual([]);
		expect(follower.errors).toEqual([]);
	});

	it('two hours asleep with a connection that lived on: it is kept, and proven within a second', async () => {
		clock.sleep(TWO_HOURS);
		await append(reached.server, place(), range(10, 20));
		const at = performance.now();
		page.listener?.wake('visible');
		await follower.reach(20);
		expect(performance.now() - at).toBeLessThan(1_000);
		// The probe's own second, too: nothing may come after it.
		await sleep(1_200);
		expect(laser.connection.state).toBe('ready');
		expect(proxy.accepted).toBe(1);
	});

	it('two hours asleep with a connection that died silently: another one, a second after waking up', async () => {
		proxy.silence();
		clock.sleep(TWO_HOURS);
		await append(reached.server, place(), range(10, 20));
		const at = performance.now();
		page.listener?.wake('visible');
		await follower.reach(20);
		expect(performance.now() - at).toBeLessThan(1_000 + SLACK);
		expect(proxy.accepted).toBe(2);
		expect(laser.connection.state).toBe('ready');
	});

	it('nothing tells that the machine slept but the clock: the same', async () => {
		proxy.silence();
		clock.sleep(TWO_HOURS);
		await append(reached.server, place(), range(10, 20));
		await follower.reach(20, WATCHDOG + 5_000);
		expect(proxy.accepted).toBe(2);
	});

	it('put away for two hours and taken back: hung up meanwhile, and dialled once', async () => {
		page.listener?.suspend('pagehide');
		await until('hung up', () => count.live === 0 && proxy.open === 0);
		expect(laser.connection.state).toBe('paused');
		clock.sleep(TWO_HOURS);
		await append(reached.server, place(), range(10, 20));
		const at = performance.now();
		page.listener?.restore('pagehide');
		page.listener?.wake('pageshow');
		await until('ready', () => laser.connection.state === 'ready');
		expect(performance.now() - at).toBeLessThan(1_000);
		await follower.reach(20);
		expect(proxy.accepted).toBe(2);
		expect(count.dials).toBe(2);
	});

	it('the network away while the socket stays open: back within the watchdog and a second', async () => {
		proxy.silence();
		await sleep(1_500);
		await append(reached.server, place(), range(10, 20));
		const at = performance.now();
		page.listener?.wake('online');
		await follower.reach(20);
		expect(performance.now() - at).toBeLessThan(WATCHDOG + 1_000);
		// What the old socket says at last is nobody's any more.
		proxy.cutAll();
		await until('ready', () => laser.connection.state === 'ready');
		await append(reached.server, place(), range(20, 25));
		await follower.reach(25);
		expect(follower.rows).toEqual(range(0, 25));
	});
});
