import { describe, expect, it } from 'vitest';
import { observeConnection } from '../../../js/changefeed/index.js';
import { type Attributes, type MeterLike, meterObserver } from '../../../js/opentelemetry.js';
import { connected } from '../support/world.js';

describe('observing a connection', () => {
	it('tells states, dials and logins until it is ended', async () => {
		const { core, context } = await connected();
		const { connection } = context.link;
		const seen: unknown[][] = [];
		const stop = observeConnection(connection, {
			connectionState: (state, previous) => {
				seen.push(['state', state, previous]);
				throw new Error('an observer');
			},
			connectionDial: (attempts) => seen.push(['dial', attempts]),
			connectionAuth: (accepted) => seen.push(['auth', accepted]),
		});
		const go = (
			state: 'waiting' | 'dialing' | 'authenticating' | 'ready' | 'needs-auth',
			attempts = 0,
		): void => {
			core.push({ type: 'connection', state, attempts });
			connection.resume('nothing');
		};
		go('waiting');
		go('dialing', 2);
		go('authenticating', 2);
		go('ready');
		go('authenticating', 1);
		go('needs-auth', 1);
		expect(seen).toEqual([
			['state', 'waiting', 'ready'],
			['state', 'dialing', 'waiting'],
			['dial', 2],
			['state', 'authenticating', 'dialing'],
			['state', 'ready', 'authenticating'],
			['auth', true],
			['state', 'authenticating', 'ready'],
			['state', 'needs-auth', 'authenticating'],
			['auth', false],
		]);
		stop();
		go('ready');
		expect(seen).toHaveLength(9);
	});
});

describe('metrics for OpenTelemetry', () => {
	it('are counted under their stable names, with the difference for what goes up and down', () => {
		const counted: [string, number, Attributes | undefined][] = [];
		const metric = (name: string) => {
			const count = (value: number, attributes?: Attributes): void => {
				counted.push([name, value, attributes]);
			};
			return { add: count, record: count };
		};
		const meter: MeterLike = {
			createCounter: metric,
			createUpDownCounter: metric,
			createHistogram: metric,
		};
		const observer = meterObserver(meter);
		observer.feedState?.('c', false, 2);
		observer.feedState?.('c', true, 2);
		observer.feedState?.('c', true, 3);
		observer.feedReopened?.('c', 'history_lost');
		observer.feedEvent?.('c', 'insert', true);
		observer.feedLag?.('c', 1500);
		observer.feedSkipped?.('c', 4);
		observer.feedState?.('c', false, 3);
		observer.connectionDial?.(1);
		observer.connectionAuth?.(false);
		expect(counted).toEqual([
			['tidemark.feed.open', 1, { consumer: 'c' }],
			['tidemark.feed.watched', 2, { consumer: 'c' }],
			['tidemark.feed.watched', 1, { consumer: 'c' }],
			['tidemark.feed.reopened', 1, { consumer: 'c', reason: 'history_lost' }],
			['tidemark.feed.events', 1, { consumer: 'c', op: 'insert', system: true }],
			['tidemark.feed.lag', 1.5, { consumer: 'c' }],
			['tidemark.feed.skipped', 4, { consumer: 'c' }],
			['tidemark.feed.open', -1, { consumer: 'c' }],
			['tidemark.feed.watched', -3, { consumer: 'c' }],
			['tidemark.connection.dials', 1, undefined],
			['tidemark.connection.logins', 1, { accepted: false }],
		]);
	});
});
