/**
 * Metrics of consumers and connections for OpenTelemetry. It depends on no package of theirs: whatever has the shape of
 * their Meter will do.
 *
 * | metric | kind | unit | attributes |
 * | --- | --- | --- | --- |
 * | `tidemark.feed.open` | up-down counter | `{feed}` | consumer |
 * | `tidemark.feed.watched` | up-down counter | `{collection}` | consumer |
 * | `tidemark.feed.reopened` | counter | `{reopening}` | consumer, reason |
 * | `tidemark.feed.events` | counter | `{change}` | consumer, op, system |
 * | `tidemark.feed.lag` | histogram | `s` | consumer |
 * | `tidemark.feed.skipped` | counter | `{record}` | consumer |
 * | `tidemark.feed.subscriber_failures` | counter | `{failure}` | consumer |
 * | `tidemark.connection.states` | counter | `{change}` | state |
 * | `tidemark.connection.dials` | counter | `{dial}` | |
 * | `tidemark.connection.logins` | counter | `{login}` | accepted |
 *
 * The names are stable.
 */

import type { Observer } from './changefeed/observer.js';

export type Attributes = Record<string, string | boolean>;

/** What is used of an OpenTelemetry Meter. */
export interface MeterLike {
	createCounter(name: string, options?: MetricOptions): { add(value: number, attributes?: Attributes): void };
	createUpDownCounter(
		name: string,
		options?: MetricOptions,
	): { add(value: number, attributes?: Attributes): void };
	createHistogram(
		name: string,
		options?: MetricOptions,
	): { record(value: number, attributes?: Attributes): void };
}

export interface MetricOptions {
	description?: string;
	unit?: string;
}

/** An observer that counts into a meter. One for all consumers of a program is enough. */
export function meterObserver(meter: MeterLike): Observer {
	const counter = (name: string, unit: string, description: string) =>
		meter.createCounter(`tidemark.${name}`, { unit: `{${unit}}`, description });
	const open = meter.createUpDownCounter('tidemark.feed.open', {
		unit: '{feed}',
		description: 'Feeds whose stream is open',
	});
	const watched = meter.createUpDownCounter('tidemark.feed.watched', {
		unit: '{collection}',
		description: 'Collections that open feeds watch',
	});
	const lag = meter.createHistogram('tidemark.feed.lag', {
		unit: 's',
		description: 'Age of a change when it was handled',
	});
	const reopened = counter('feed.reopened', 'reopening', 'Streams opened again');
	const events = counter('feed.events', 'change', 'Changes handled');
	const skipped = counter('feed.skipped', 'record', 'Records left out because they cannot be read');
	const failures = counter('feed.subscriber_failures', 'failure', 'Subscribers that threw');
	const states = counter('connection.states', 'change', 'Changes of the connection state');
	const dials = counter('connection.dials', 'dial', 'Sockets opened');
	const logins = counter('connection.logins', 'login', 'Logins answered');
	/** Up-down counters take differences. */
	const told = new Map<string, { open: number; watched: number }>();
	return {
		feedState(consumer, isOpen, collections) {
			const before = told.get(consumer) ?? { open: 0, watched: 0 };
			const now = isOpen ? { open: 1, watched: collections } : { open: 0, watched: 0 };
			if (isOpen) told.set(consumer, now);
			else told.delete(consumer);
			if (now.open !== before.open) open.add(now.open - before.open, { consumer });
			if (now.watched !== before.watched) watched.add(now.watched - before.watched, { consumer });
		},
		feedReopened: (consumer, reason) => reopened.add(1, { consumer, reason }),
		feedEvent: (consumer, op, system) => events.add(1, { consumer, op, system }),
		feedLag: (consumer, lagMs) => lag.record(lagMs / 1000, { consumer }),
		feedSkipped: (consumer, records) => skipped.add(records, { consumer }),
		feedSubscriberFailed: (consumer) => failures.add(1, { consumer }),
		connectionState: (state) => states.add(1, { state }),
		connectionDial: () => dials.add(1),
		connectionAuth: (accepted) => logins.add(1, { accepted }),
	};
}
