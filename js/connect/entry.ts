import type { MakeCore } from '../core/make.js';
import { ConfigError } from '../errors/index.js';
import { LaserBuilder } from './builder.js';
import type { Context } from './context.js';
import { LaserHandle } from './laser.js';
import { openContext } from './open.js';
import type { ConnectOptions } from './options.js';

/** The class `Laser` of an entry: handles of its kind, and the core that they run on. */
export interface LaserClass<L> {
	/** @internal */
	new (context: Context): L;
	/** @internal */
	readonly makeCore: MakeCore;
}

/** Left out, the option would mean no default stream. */
function requireStream(stream: string): string {
	if (stream === undefined) throw new ConfigError('stream: missing');
	return stream;
}

async function connect<L>(entry: LaserClass<L>, url: string | URL, options: ConnectOptions = {}): Promise<L> {
	return new entry(await openContext(url, options, { makeCore: entry.makeCore }));
}

/** A handle that connects by itself: what every entry's `Laser` is. */
export class ConnectingHandle extends LaserHandle {
	/**
	 * Connects, logs in and asks once what the server offers, all within the connect budget (30 s).
	 *
	 * @throws {ConfigError} bad options
	 * @throws {TimeoutError} the server accepts and does not answer
	 * @throws {TransportError} no connection came about
	 * @throws {WasmLoadError | CspBlockedError} the core could not be loaded
	 */
	static connect<L>(this: LaserClass<L>, url: string | URL, options?: ConnectOptions): Promise<L> {
		// biome-ignore lint/complexity/noThisInStatic: the entry's own class, whichever it is
		return connect(this, url, options);
	}

	static async connectWithStream<L>(
		this: LaserClass<L>,
		url: string | URL,
		stream: string,
		options?: ConnectOptions,
	): Promise<L> {
		// biome-ignore lint/complexity/noThisInStatic: the entry's own class, whichever it is
		return connect(this, url, { ...options, stream: requireStream(stream) });
	}

	static builder<L>(this: LaserClass<L>): LaserBuilder<L> {
		// biome-ignore lint/complexity/noThisInStatic: as above
		return new LaserBuilder((url, options) => connect(this, url, options));
	}
}
