import type { LaserConnection } from '../connect/connection.js';
import type { Op, ReopenReason } from '../core/consumer.js';
import type { ConnectionState } from '../core/contract.js';
import type { LaserError } from '../errors/index.js';

/** Is told what goes on, for metrics and logs. Everything is optional, and one that throws harms nothing. */
export interface Observer {
	feedState?(consumer: string, open: boolean, watched: number): void;
	feedReopened?(consumer: string, reason: ReopenReason): void;
	/** A change was handled. */
	feedEvent?(consumer: string, op: Op, system: boolean): void;
	/** Wall clock less the time of the change just handled, ms, never below 0. Not told while idle. */
	feedLag?(consumer: string, lagMs: number): void;
	/** Records were left out because they cannot be read. */
	feedSkipped?(consumer: string, records: number): void;
	/** A subscriber of a shared consumer threw, and was released. */
	feedSubscriberFailed?(consumer: string, error: unknown): void;
	connectionState?(state: ConnectionState, previous: ConnectionState, error: LaserError | undefined): void;
	/** Dials since the connection last stood, this one included. */
	connectionDial?(attempts: number): void;
	connectionAuth?(accepted: boolean): void;
}

/** Tells an observer; what it throws, or rejects with, stays here. */
export function tell<K extends keyof Observer>(
	observer: Observer | undefined,
	what: K,
	...about: Parameters<NonNullable<Observer[K]>>
): void {
	try {
		const answer = (observer?.[what] as ((...args: unknown[]) => unknown) | undefined)?.apply(
			observer,
			about,
		);
		if (answer instanceof Promise) answer.catch(() => {});
	} catch {
		// An observer looks on.
	}
}

/** Has an observer told of a connection; the returned function ends it. */
export function observeConnection(connection: LaserConnection, observer: Observer): () => void {
	const listen = ({ state, previous, error }: ConnectionEvent): void => {
		tell(observer, 'connectionState', state, previous, error);
		if (state === 'dialing') tell(observer, 'connectionDial', connection.attempts);
		if (previous === 'authenticating' && (state === 'ready' || state === 'needs-auth')) {
			tell(observer, 'connectionAuth', state === 'ready');
		}
	};
	connection.addEventListener('state', listen);
	return () => connection.removeEventListener('state', listen);
}

interface ConnectionEvent {
	readonly state: ConnectionState;
	readonly previous: ConnectionState;
	readonly error: LaserError | undefined;
}
