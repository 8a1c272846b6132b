import { type Abortable, signalOf } from '../connect/abort.js';
import { ConsumerCore, type OnHistoryLost } from '../core/consumer.js';
import { type CoreModule, type CoreTarget, loadCore, type WasmInput } from '../core/load.js';
import { ConfigError, InvalidError } from '../errors/index.js';
import { type Clock, systemClock } from '../platform/clock.js';
import { type Lifecycle, pageLifecycle } from '../platform/lifecycle.js';
import { entriesOf } from './change.js';
import type { Observer } from './observer.js';
import { Run } from './run.js';
import type { Change, Handler, Position, Source, WatchSet } from './types.js';

export interface ConsumerOptions<C extends Change = Change> {
	/** Names the consumer to observers. */
	name: string;
	source: Source<C>;
	/** May be left to the subscribers where the consumer is shared. */
	handler?: Handler<C>;
	watched?: WatchSet;
	observer?: Observer;
	/**
	 * How long to wait before an attempt to open again, ms; attempts are counted from 1 since the last success. By default
	 * 100 ms, doubling to 5 s, drawn at random below that where the server went away for all its clients.
	 */
	backoff?: (attempt: number) => number;
	/** Where to go on when a position is no longer there: from `"now"` (the default), the `"earliest"`, or not at all. */
	onHistoryLost?: OnHistoryLost;
	/** Where the core's wasm comes from, if not from where the package puts it. */
	wasm?: WasmInput;
}

/** What a consumer stands on; tests bring their own. @internal */
export interface ConsumerWorld {
	clock?: Clock;
	lifecycle?: Lifecycle;
}

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/**
 * Reads the change history of a source: goes on where it stood after errors, says what was lost, and hands over one
 * change at a time.
 */
export abstract class ConsumerBase<C extends Change = Change> {
	/** Which wasm it is, and where that comes from, is the entry's choice. @internal */
	protected abstract readonly target: CoreTarget;
	readonly name: string;
	readonly #options: ConsumerOptions<C>;
	readonly #clock: Clock;
	readonly #lifecycle: Lifecycle;
	#watched: WatchSet;
	#position: Position | undefined;
	#isRunning = false;
	#run: Run<C> | undefined;
	#isHeld = false;
	#module: Promise<CoreModule> | undefined;

	constructor(options: ConsumerOptions<C>, world: ConsumerWorld = {}) {
		if (typeof options.name !== 'string' || options.name === '') {
			throw new ConfigError('consumer: it needs a name');
		}
		entriesOf(options.watched ?? {});
		this.name = options.name;
		this.#options = options;
		this.#watched = options.watched ?? {};
		this.#clock = world.clock ?? systemClock;
		this.#lifecycle = world.lifecycle ?? pageLifecycle;
	}

	/** The last position reached: everything before it was handled. */
	get position(): Position | undefined {
		return this.#position;
	}

	/**
	 * Reads until the signal fires and resolves to the last position reached, which an application stores that wants to go
	 * on there. Without `from`: from now. A handler at work when the signal fires is waited for.
	 *
	 * @throws {HistoryLostError} at one position again and again, or at all with `onHistoryLost: "stop"`
	 * @throws what the handler threw, or what the source did when trying again is of no use; `position` tells how far it got
	 */
	run(from?: Position, options?: Abortable): Promise<Position | undefined> {
		const { handler } = this.#options;
		if (handler === undefined) return Promise.reject(new ConfigError('run: the consumer has no handler'));
		return this.runFor(handler, from, options);
	}

	/** Another set is watched from now on: a running consumer opens again after its position. */
	setWatched(set: WatchSet): void {
		entriesOf(set);
		this.#watched = set;
		this.#run?.setWatched(set);
	}

	/** @internal */
	get clock(): Clock {
		return this.#clock;
	}

	/** @internal */
	get observer(): Observer | undefined {
		return this.#options.observer;
	}

	/** @internal */
	get handler(): Handler<C> | undefined {
		return this.#options.handler;
	}

	/** While held nothing is read. @internal */
	hold(held: boolean): void {
		this.#isHeld = held;
		this.#run?.hold(held);
	}

	/** @internal */
	load(): Promise<CoreModule> {
		if (this.#module === undefined) {
			const module = loadCore(this.target, this.#options.wasm);
			this.#module = module;
			module.catch(() => {
				this.#module = undefined;
			});
		}
		return this.#module;
	}

	/** @internal */
	async runFor(
		handler: Handler<C>,
		from: Position | undefined,
		options: Abortable,
	): Promise<Position | undefined> {
		const signal = signalOf(options);
		if (this.#isRunning) throw new InvalidError(`consumer "${this.name}" is running already`);
		if (from !== undefined && !(from instanceof Uint8Array)) {
			throw new InvalidError('run: a position is bytes', { rule: 'argument' });
		}
		const start = from?.slice();
		this.#isRunning = true;
		this.#position = start;
		try {
			const module = await this.load();
			const { onHistoryLost = 'now', source, observer, backoff } = this.#options;
			const run = new Run<C>({
				name: this.name,
				core: new ConsumerCore(module, {
					firstMs: FIRST_MS,
					longestMs: LONGEST_MS,
					onHistoryLost,
					seed: crypto.getRandomValues(new BigUint64Array(4)),
				}),
				source,
				handler,
				observer,
				backoff,
				clock: this.#clock,
				lifecycle: this.#lifecycle,
				reached: (position) => {
					this.#position = position;
				},
			});
			this.#run = run;
			if (this.#isHeld) run.hold(true);
			return await run.start(this.#watched, start, signal);
		} finally {
			this.#run = undefined;
			this.#isRunning = false;
		}
	}
}
