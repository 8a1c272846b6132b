import { ClosedError, InvalidError } from '../errors/index.js';
import { type Abortable, cancelled, orAborted, signalOf } from './abort.js';
import {
	type Capabilities,
	capabilitiesFromCore,
	NO_CAPABILITIES,
	sameCapabilities,
} from './capabilities.js';
import { driverDefaults } from './defaults.js';
import type { Driver } from './driver.js';

/** Where the managed plane keeps its topics, as far as the server announced it. */
export interface Topology {
	readonly opsStream?: string;
	readonly changesTopic?: string;
}

const DOING = { surface: 'capabilities', operation: 'probe' };

/** The capability set of one connection, probed anew with every session. */
export class HeldCapabilities {
	readonly #driver: Driver;
	#set: Capabilities = NO_CAPABILITIES;
	#topology: Topology = {};
	#probedAt = Number.NEGATIVE_INFINITY;
	#probe: Promise<Capabilities> | undefined;
	/** Called when the set became another one. */
	onChange: ((set: Capabilities) => void) | undefined;

	constructor(driver: Driver) {
		this.#driver = driver;
		driver.onCapabilities((raw) => this.#hold(raw));
	}

	get set(): Capabilities {
		return this.#set;
	}

	get topology(): Topology {
		return this.#topology;
	}

	/** The held set; probed first where it shows no managed plane and the last probe is a second old. */
	async current(given: Abortable): Promise<Capabilities> {
		const signal = signalOf(given);
		if (this.#driver.closed) throw new ClosedError('capabilities: the connection is closed');
		const age = this.#driver.now().mono - this.#probedAt;
		if (this.#set.managed || age < driverDefaults.unmanagedProbeMs) {
			if (signal?.aborted) throw cancelled(signal, 'capabilities');
			return this.#set;
		}
		return this.refresh(signal);
	}

	/** One probe at a time: whoever asks meanwhile gets its result. */
	refresh(given: Abortable): Promise<Capabilities> {
		this.#probe ??= this.#driver
			.run<unknown>(DOING, undefined, (core, now) => core.probe(now))
			.then((raw) => this.#hold(raw))
			.finally(() => {
				this.#probe = undefined;
			});
		return orAborted(this.#probe, signalOf(given), 'probe');
	}

	/**
	 * Resolves when the plane is managed and every enabled backend is ready; probes every 100 ms.
	 *
	 * @throws {UnsupportedError} the server answered and has no backends to wait for
	 * @throws {TimeoutError} not ready in time
	 */
	waitUntilReady(timeoutMs: number, given: Abortable): Promise<Capabilities> {
		if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) {
			return Promise.reject(new InvalidError('waitUntilReady: the time is milliseconds, 0 or more'));
		}
		return this.#driver
			.run<unknown>({ ...DOING, operation: 'waitUntilReady' }, signalOf(given), (core, now) =>
				core.waitUntilReady(timeoutMs, now),
			)
			.then((raw) => this.#hold(raw));
	}

	#hold(raw: unknown): Capabilities {
		if (typeof raw === 'object' && raw !== null) {
			const { topology, ...rest } = raw as { topology?: Topology };
			const before = this.#set;
			this.#set = capabilitiesFromCore(rest);
			if (topology !== undefined && topology !== null) this.#topology = topology;
			if (!sameCapabilities(before, this.#set)) this.onChange?.(this.#set);
		}
		this.#probedAt = this.#driver.now().mono;
		return this.#set;
	}
}
