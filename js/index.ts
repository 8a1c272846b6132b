/** The whole client: everything of `tidemark/watch`, and the managed plane. */
import { LaserBuilder } from './connect/builder.js';
import { LaserHandle } from './connect/laser.js';
import { type MakeCore, openContext } from './connect/open.js';
import type { ConnectOptions } from './connect/options.js';
import { Core } from './core/core.js';
import { full } from './core/full.js';
import { loadCore } from './core/load.js';
import { Bindings } from './managed/bindings.js';
import { Projections } from './managed/projections.js';

export * from './connect/index.js';
export * from './errors/index.js';
export * from './managed/index.js';
export * from './storage/index.js';
export * from './topic/index.js';
export * from './watch/index.js';

const makeCore: MakeCore = async (options, wasm) => new Core(await loadCore(full, wasm), options);

export class Laser extends LaserHandle {
	/**
	 * Connects, logs in and asks once what the server offers, all within the connect budget (30 s).
	 *
	 * @throws {ConfigError} bad options
	 * @throws {TimeoutError} the server accepts and does not answer
	 * @throws {TransportError} no connection came about
	 * @throws {WasmLoadError | CspBlockedError} the core could not be loaded
	 */
	static async connect(url: string | URL, options: ConnectOptions = {}): Promise<Laser> {
		return new Laser(await openContext(url, options, { makeCore }));
	}

	static connectWithStream(url: string | URL, stream: string, options: ConnectOptions = {}): Promise<Laser> {
		return Laser.connect(url, { ...options, stream });
	}

	static builder(): LaserBuilder<Laser> {
		return new LaserBuilder((url, options) => Laser.connect(url, options));
	}

	/** How records become rows. */
	projections(): Projections {
		return new Projections(this.context);
	}

	/** Which topic feeds which index. */
	bindings(): Bindings {
		return new Bindings(this.context);
	}
}
