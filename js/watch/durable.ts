import type { Abortable } from '../connect/abort.js';
import type { Context, Link } from '../connect/context.js';
import { driverDefaults } from '../connect/defaults.js';
import type { Positions, Skipped } from '../core/contract.js';
import { ConfigError, InvalidError, StorageError } from '../errors/index.js';
import { systemClock } from '../platform/clock.js';
import { TypedEventTarget } from '../platform/events.js';
import { pageLifecycle } from '../platform/lifecycle.js';
import { IndexedDbStore } from '../storage/indexed-db-store.js';
import { MemoryStore } from '../storage/memory-store.js';
import type { PositionSource, Store, StoreKey } from '../storage/store.js';
import { offsetsForTime } from '../topic/offset-for-time.js';
import type { Batch } from './batch.js';
import {
	GapEvent,
	IdleEvent,
	type Persistence,
	PersistenceEvent,
	SkippedEvent,
	type WatcherEvents,
	type WatcherState,
	WatcherStateEvent,
} from './events.js';
import { PositionKeeper } from './keeper.js';
import { checkOffsets, saturated } from './offsets.js';
import { Run, type SourceSpec } from './run.js';

export interface DurableOptions<S extends Store = Store> {
	/** Default: IndexedDB where there is one, else memory. */
	store?: S;
	/** Where to begin when nothing is stored. Default `"beginning"`. */
	from?: 'beginning' | 'now' | Positions;
	/** Where to go on after lost history. Default `"earliest"`: the first record that is still there. */
	onHistoryLost?: 'earliest' | 'now';
	/** Records per request. Default 1,000. */
	batch?: number;
	/** Bytes of one batch. Default 8 MiB. */
	byteCap?: number;
}

/** The kind of transaction that a store hands to `commit`. */
export type TransactionOf<S> = S extends Store<infer Tx> ? Tx : never;

export interface FollowOptions {
	signal?: AbortSignal | undefined;
	/** Pause between polls of a feed that is caught up, ms. Default 200. */
	intervalMs?: number;
}

const DEFAULT_SCOPE = 'default';

/**
 * Reads a source from a stored position on. Iterating it ends when everything was read; `follow()` and `readable()` go
 * on. Asking an iterator for the next batch commits the one before; leaving the loop by `break`, `return`, an exception
 * or an abort does not, so that batch comes again. One iteration at a time.
 */
export class DurableWatcher<C, Tx = IDBTransaction> extends TypedEventTarget<WatcherEvents> {
	readonly name: string;
	readonly #context: Context;
	readonly #spec: SourceSpec<C>;
	readonly #options: DurableOptions;
	readonly #key: StoreKey;
	readonly #store: Store<Tx>;
	readonly #keeper: PositionKeeper<Tx>;
	#run: Run<C, Tx> | undefined;
	#state: WatcherState = 'stopped';
	#lastHandledMicros: bigint | undefined;
	readonly #skipped: Skipped = { malformed: 0, version: 0, otherIndex: 0 };
	#stopListening: (() => void) | undefined;

	/** @internal */
	constructor(context: Context, name: string, spec: SourceSpec<C>, options: DurableOptions) {
		super();
		if (typeof name !== 'string' || name === '') {
			throw new ConfigError('durable: the name must be a text and not empty');
		}
		if (options.from !== undefined && typeof options.from !== 'string') checkOffsets(options.from);
		const { settings } = context.link;
		this.name = name;
		this.#context = context;
		this.#spec = spec;
		this.#options = options;
		this.#store = (options.store ?? defaultStore(context.link)) as unknown as Store<Tx>;
		if (this.#store.needsScope && settings.tokenCallback && settings.scope === undefined) {
			throw new ConfigError(
				'scope: with a token callback, say whose data is stored (connect option or store option `scope`)',
			);
		}
		this.#key = { scope: settings.scope ?? DEFAULT_SCOPE, name };
		this.#store.bind?.(this.#key);
		this.#keeper = new PositionKeeper({
			store: this.#store,
			key: this.#key,
			clock: systemClock,
			onPersistence: (persistence, error) => this.dispatchEvent(new PersistenceEvent(persistence, error)),
			onRecovered: () => this.#run?.restart(),
		});
	}

	get state(): WatcherState {
		return this.#state;
	}

	get persistence(): Persistence {
		return this.#keeper.persistence;
	}

	/** Age of the last record that was handled, ms; `undefined` while there is nothing to do, and before the first. */
	get lag(): number | undefined {
		if (this.#state !== 'reading' || this.#lastHandledMicros === undefined) return undefined;
		return Math.max(0, Date.now() - Number(this.#lastHandledMicros / 1000n));
	}

	/** Change records left out since the watcher was made: bytes that are none, a later version, another index. */
	get skipped(): Readonly<Skipped> {
		return { ...this.#skipped };
	}

	/** Next offset to read of each partition, as far as committed. A copy; empty before anything was loaded. */
	get position(): ReadonlyMap<number, bigint> {
		return saturated(this.#keeper.place?.positions ?? new Map());
	}

	/** Everything up to where the source ends now. */
	[Symbol.asyncIterator](): AsyncGenerator<Batch<C, Tx>, void, void> {
		return this.#iterate(undefined, undefined);
	}

	/** Goes on until the signal fires (CancelledError) or the loop is left. */
	follow(options: FollowOptions = {}): AsyncGenerator<Batch<C, Tx>, void, void> {
		return this.#iterate(intervalOf(options), options.signal);
	}

	/**
	 * Goes on like `follow`, as a stream: one read for each that is pulled, none ahead. Reading from a stream commits
	 * nothing, since streams pull ahead: only `batch.commit()` does, in order.
	 */
	readable(options: FollowOptions = {}): ReadableStream<Batch<C, Tx>> {
		const waitMs = intervalOf(options);
		let run: Run<C, Tx> | undefined;
		return new ReadableStream<Batch<C, Tx>>(
			{
				start: () => {
					run = this.#begin(options.signal);
				},
				pull: async (controller) => {
					try {
						const batch = await run?.next(waitMs);
						if (batch !== undefined) controller.enqueue(batch);
					} catch (error) {
						await this.#finish(run);
						throw error;
					}
				},
				cancel: () => this.#finish(run),
			},
			{ highWaterMark: 0 },
		);
	}

	/**
	 * Moves the position. What is under way is read again from there; batches handed over before are void. What `write`
	 * writes happens in the same transaction.
	 *
	 * @throws {StorageError} it cannot be stored; nothing was moved
	 */
	async seek(
		to: Positions | 'beginning' | 'now',
		write?: (transaction: Tx) => unknown,
		given?: Abortable,
	): Promise<void> {
		const source = this.#source();
		if (typeof to === 'string' && to !== 'beginning' && to !== 'now') {
			throw new InvalidError('seek: a position, "beginning" or "now"', { rule: 'argument' });
		}
		const positions =
			typeof to === 'string'
				? await offsetsForTime(this.#context, source, to === 'beginning' ? 0n : END_OF_TIME, given)
				: new Map(checkOffsets(to));
		await this.#keeper.move({ positions, identity: undefined }, source, write);
		this.#lastHandledMicros = undefined;
		this.#run?.restart();
	}

	/** Removes the stored position: the next start is a first one. `write` joins the transaction. */
	async forget(write?: (transaction: Tx) => unknown): Promise<void> {
		await this.#keeper.move(undefined, this.#source(), write);
		this.#lastHandledMicros = undefined;
		this.#run?.restart();
	}

	/** For every partition, the first offset appended at or after the time; the end where there is none. */
	offsetForTime(micros: bigint, given?: Abortable): Promise<ReadonlyMap<number, bigint>> {
		return offsetsForTime(this.#context, this.#spec.place(), micros, given);
	}

	#source(): PositionSource {
		return { content: this.#spec.content, ...this.#spec.place() };
	}

	async *#iterate(
		waitMs: number | undefined,
		signal: AbortSignal | undefined,
	): AsyncGenerator<Batch<C, Tx>, void, void> {
		const run = this.#begin(signal);
		try {
			for (;;) {
				const batch = await run.next(waitMs);
				if (batch === undefined) return;
				yield batch;
				await run.settle();
			}
		} finally {
			await this.#finish(run);
		}
	}

	#begin(signal: AbortSignal | undefined): Run<C, Tx> {
		if (this.#run !== undefined) {
			if (!this.#run.ended) throw new InvalidError(`durable "${this.name}" is being read already`);
			// It was aborted, and nobody has asked it for more since.
			this.#detach();
		}
		const { from, onHistoryLost, batch, byteCap } = this.#options;
		const run = new Run<C, Tx>({
			context: this.#context,
			spec: this.#spec,
			options: { from, onHistoryLost, batch, byteCap },
			keeper: this.#keeper,
			lockName: this.#store.shared ? () => this.#lockName() : undefined,
			listener: {
				state: (state) => this.#setState(state),
				gap: (gap) => this.dispatchEvent(new GapEvent(gap)),
				skipped: (more) => this.#countSkipped(more),
				handled: (micros) => {
					this.#lastHandledMicros = micros ?? this.#lastHandledMicros;
				},
			},
			signal,
		});
		this.#run = run;
		this.#keeper.start();
		this.#stopListening = pageLifecycle.listen({
			wake: () => this.#keeper.retryNow(),
			suspend: () => run.suspend(),
			restore: () => run.resume(),
		});
		return run;
	}

	/** One reader at a time for each stored position, not for each name: stores are apart. */
	async #lockName(): Promise<string> {
		try {
			return `tidemark:${(await this.#store.place?.(this.#key)) ?? JSON.stringify(this.#key)}`;
		} catch (error) {
			// Loading the position meets the same failure, and deals with it.
			if (error instanceof StorageError) return `tidemark:${JSON.stringify(this.#key)}`;
			throw error;
		}
	}

	async #finish(run: Run<C, Tx> | undefined): Promise<void> {
		if (run === undefined || this.#run !== run) return;
		await run.end();
		if (this.#run === run) this.#detach();
	}

	#detach(): void {
		this.#run = undefined;
		this.#keeper.stop();
		this.#stopListening?.();
		this.#stopListening = undefined;
	}

	#countSkipped({ malformed, version, otherIndex }: Skipped): void {
		this.#skipped.malformed += malformed;
		this.#skipped.version += version;
		this.#skipped.otherIndex += otherIndex;
		if (malformed + version > 0) this.dispatchEvent(new SkippedEvent(malformed, version));
	}

	#setState(state: WatcherState): void {
		const previous = this.#state;
		if (state === previous) return;
		this.#state = state;
		this.dispatchEvent(new WatcherStateEvent(state, previous));
		if (state === 'idle') this.dispatchEvent(new IdleEvent(this.position));
	}
}

/** Later than every append: asks for the end of each partition. */
const END_OF_TIME = 2n ** 63n - 1n;

function intervalOf(options: FollowOptions): number {
	const interval = options.intervalMs ?? driverDefaults.followMs;
	if (!(interval > 0)) throw new InvalidError('follow: the interval must be above 0 ms');
	return interval;
}

/** One for all watchers of a connection that name no store. */
const defaultStores = new WeakMap<Link, Store>();

function defaultStore(link: Link): Store {
	let store = defaultStores.get(link);
	if (store === undefined) {
		store = hasIndexedDb() ? new IndexedDbStore() : new MemoryStore();
		defaultStores.set(link, store);
	}
	return store;
}

function hasIndexedDb(): boolean {
	try {
		return globalThis.indexedDB !== undefined && globalThis.indexedDB !== null;
	} catch {
		// There is one, and this page may not use it: the store says so and the watcher goes on in memory.
		return true;
	}
}
