import type { ConnectionState, CoreClient, Credentials, Dialect } from '../core/contract.js';
import type { LaserError } from '../errors/index.js';
import type { Clock } from '../platform/clock.js';
import type { Lifecycle } from '../platform/lifecycle.js';
import type { OpenSocket } from '../platform/socket.js';

export interface ConnectionStatus {
	readonly state: ConnectionState;
	/** Wall time of the last change of state, ms since 1970. */
	readonly since: number;
	/** Dials since the connection last stood. */
	readonly attempts: number;
	readonly dialect: Dialect | undefined;
	/** Why the last connection ended, or why it does not come up. */
	readonly error: LaserError | undefined;
}

/** Asked at every login, never kept: a token may have expired since. The signal fires when the answer comes too late. */
export type CredentialsSource = (signal: AbortSignal) => Credentials | Promise<Credentials>;

export type StatusListener = (status: ConnectionStatus) => void;
export type CapabilitiesListener = (capabilities: unknown) => void;
export type ReaderStateListener = (state: 'reading' | 'idle' | 'waiting_for_source') => void;

export interface DriverParts {
	core: CoreClient;
	url: string;
	openSocket: OpenSocket;
	credentials: CredentialsSource;
	clock: Clock;
	lifecycle: Lifecycle;
}
