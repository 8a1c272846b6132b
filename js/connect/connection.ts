import type { ConnectionState, Dialect } from '../core/contract.js';
import type { LaserError } from '../errors/index.js';
import { TypedEventTarget } from '../platform/events.js';
import type { Capabilities } from './capabilities.js';
import type { Driver } from './driver.js';
import type { ConnectionStatus } from './driver-types.js';
import type { HeldCapabilities } from './held-capabilities.js';

export class ConnectionStateEvent extends Event {
	readonly state: ConnectionState;
	readonly previous: ConnectionState;
	readonly error: LaserError | undefined;

	constructor(status: ConnectionStatus, previous: ConnectionState) {
		super('state');
		this.state = status.state;
		this.previous = previous;
		this.error = status.error;
	}
}

/** The server offers something else than before, for example after a restart. */
export class CapabilitiesEvent extends Event {
	readonly capabilities: Capabilities;

	constructor(capabilities: Capabilities) {
		super('capabilities');
		this.capabilities = capabilities;
	}
}

export interface ConnectionEvents {
	state: ConnectionStateEvent;
	capabilities: CapabilitiesEvent;
}

/** The connection that all handles made from one `connect` share. */
export class LaserConnection extends TypedEventTarget<ConnectionEvents> {
	readonly #driver: Driver;

	constructor(driver: Driver, held: HeldCapabilities) {
		super();
		this.#driver = driver;
		let state = driver.status.state;
		driver.onStatus((status) => {
			if (status.state === state) return;
			const previous = state;
			state = status.state;
			this.dispatchEvent(new ConnectionStateEvent(status, previous));
		});
		held.onChange = (set) => this.dispatchEvent(new CapabilitiesEvent(set));
	}

	get state(): ConnectionState {
		return this.#driver.status.state;
	}

	/** When the state was last changed, ms since 1970. */
	get since(): number {
		return this.#driver.status.since;
	}

	get dialect(): Dialect | undefined {
		return this.#driver.status.dialect;
	}

	/** Dials since the connection last stood. */
	get attempts(): number {
		return this.#driver.status.attempts;
	}

	/** Why the last connection ended, or why it does not come up. */
	get error(): LaserError | undefined {
		return this.#driver.status.error;
	}

	/** Hangs up and stays so until every reason that was given is taken back. */
	pause(reason: string): void {
		this.#driver.pause(reason);
	}

	resume(reason: string): void {
		this.#driver.resume(reason);
	}

	/** Dials anew at once, from every state but `closed`; also what leaves `needs-auth`. */
	reconnect(): void {
		this.#driver.reconnect();
	}
}
