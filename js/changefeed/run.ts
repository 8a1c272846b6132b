import { onAbort } from '../connect/abort.js';
import { type ConsumerAction, type ConsumerCore, OPS } from '../core/consumer.js';
import { ConfigError, HistoryLostError, InvalidError } from '../errors/index.js';
import type { Clock } from '../platform/clock.js';
import type { Lifecycle } from '../platform/lifecycle.js';
import { admitted, entriesOf, WatchedNames } from './change.js';
import { failureOf } from './failure.js';
import { type Observer, tell } from './observer.js';
import type { Change, Handler, Position, Source, SourceStream, WatchSet } from './types.js';

export interface RunParts<C extends Change> {
	name: string;
	core: ConsumerCore;
	source: Source<C>;
	handler: Handler<C>;
	observer: Observer | undefined;
	backoff: ((attempt: number) => number) | undefined;
	clock: Clock;
	lifecycle: Lifecycle;
	reached(position: Position | undefined): void;
}

/** Does what the core of a consumer says, until it says that it is finished. */
export class Run<C extends Change> {
	readonly #parts: RunParts<C>;
	readonly #done: Promise<Position | undefined>;
	#settle!: { resolve(position: Position | undefined): void; reject(error: unknown): void };
	#watched: WatchSet = {};
	#names = new WatchedNames({});
	/** Of the stream that is open or opening. */
	#abort: AbortController | undefined;
	#stream: SourceStream<C> | undefined;
	#skipped = 0;
	#event: C | undefined;
	#at: Position = new Uint8Array();
	#error: unknown;
	#isWorking = false;
	#isOver = false;
	#stopTimer: (() => void) | undefined;
	readonly #stopListening: () => void;
	#stopSignal: () => void = () => {};

	constructor(parts: RunParts<C>) {
		this.#parts = parts;
		this.#done = new Promise((resolve, reject) => {
			this.#settle = { resolve, reject };
		});
		this.#stopListening = parts.lifecycle.listen({
			wake: () => this.#act((core) => core.wake(this.#now)),
			suspend: () => {},
			restore: () => {},
		});
	}

	start(
		watched: WatchSet,
		from: Position | undefined,
		signal: AbortSignal | undefined,
	): Promise<Position | undefined> {
		const { core } = this.#parts;
		this.#watch(watched);
		if (from !== undefined && from.length > MAX_POSITION) {
			this.#close();
			return Promise.reject(new InvalidError(`run: a position has at most ${MAX_POSITION} bytes`));
		}
		core.run(from, this.#now);
		this.#stopSignal = onAbort(signal, () => this.stop());
		if (signal?.aborted) core.stop(this.#now);
		this.#work();
		return this.#done;
	}

	stop(): void {
		this.#act((core) => core.stop(this.#now));
	}

	setWatched(set: WatchSet): void {
		this.#act(() => this.#watch(set));
	}

	hold(held: boolean): void {
		this.#act((core) => core.hold(held, this.#now));
	}

	get #now() {
		return this.#parts.clock.now();
	}

	#watch(set: WatchSet): void {
		this.#watched = set;
		this.#names = new WatchedNames(set);
		this.#parts.core.watch(entriesOf(set), this.#now);
	}

	#act(what: (core: ConsumerCore) => void): void {
		if (this.#isOver) return;
		what(this.#parts.core);
		this.#work();
	}

	/** Everything that there is to do now. What it calls may come back here: the loop that is running sees to it. */
	#work(): void {
		if (this.#isWorking || this.#isOver) return;
		this.#isWorking = true;
		this.#stopTimer?.();
		this.#stopTimer = undefined;
		const { core, clock } = this.#parts;
		try {
			for (;;) {
				const action = core.poll(this.#now);
				if (action.kind === 'none') break;
				if (action.kind === 'finished') {
					this.#finish(action.outcome);
					return;
				}
				this.#do(action);
			}
		} finally {
			this.#isWorking = false;
		}
		const deadline = core.deadline();
		if (deadline === undefined) return;
		this.#stopTimer = clock.after(deadline - clock.now().mono, () => this.#work());
	}

	#do(action: ConsumerAction): void {
		const { handler, observer, name, core } = this.#parts;
		switch (action.kind) {
			case 'open':
				void this.#open(action.generation, action.from);
				break;
			case 'next':
				void this.#next(action.generation);
				break;
			case 'close':
				this.#drop();
				break;
			case 'change': {
				const change = admitted(this.#event as C, action.admission);
				this.#event = undefined;
				void this.#hand(() => handler.change(change, this.#at));
				break;
			}
			case 'idle':
				void this.#hand(() => handler.idle?.(this.#at));
				break;
			case 'gap': {
				const gap = { position: core.gapPosition(), atMicros: action.atMicros };
				void this.#hand(() => handler.gap?.(gap));
				break;
			}
			case 'feed_state':
				tell(observer, 'feedState', name, action.open, action.watched);
				break;
			case 'feed_reopened':
				tell(observer, 'feedReopened', name, action.reason);
				break;
			case 'feed_event':
				tell(observer, 'feedEvent', name, action.op, action.system);
				break;
			case 'feed_lag':
				tell(observer, 'feedLag', name, action.lagMs);
				break;
		}
	}

	async #open(generation: number, from: 'now' | 'position' | 'earliest'): Promise<void> {
		const { core, source } = this.#parts;
		const abort = new AbortController();
		this.#abort = abort;
		const set = { collections: this.#watched.collections ?? [], system: this.#watched.system ?? [] };
		const place = from === 'now' ? undefined : from === 'earliest' ? from : core.position();
		try {
			const stream = await source.open(set, place, abort.signal);
			if (abort.signal.aborted) {
				closeQuietly(stream);
				return;
			}
			this.#stream = stream;
			this.#skipped = stream.skipped ?? 0;
			const position = within(stream.position());
			this.#act((one) => {
				one.opened(generation, position, this.#now);
				this.#parts.reached(one.position());
			});
		} catch (error) {
			this.#failed(generation, abort, error);
		}
	}

	async #next(generation: number): Promise<void> {
		const abort = this.#abort as AbortController;
		const stream = this.#stream as SourceStream<C>;
		try {
			const event = await stream.next(abort.signal);
			if (abort.signal.aborted) return;
			const position = within(stream.position());
			this.#countSkipped(stream);
			const isTaken = this.#tell(generation, event, position);
			if (isTaken) {
				this.#event = event;
				this.#at = position;
			}
			this.#work();
		} catch (error) {
			this.#failed(generation, abort, error);
		}
	}

	#tell(generation: number, event: C | undefined, position: Position): boolean {
		const { core } = this.#parts;
		if (event === undefined) return core.idle(generation, position, this.#now);
		if (!OPS.includes(event.op)) throw new InvalidError('a change of a source has no known op');
		// Whatever the source says: a collection watched as a system collection is one.
		const system = event.system || this.#names.get(event.namespace) === 'system';
		const isRow = event.kind === 'row';
		const about = {
			op: event.op,
			system,
			hasBefore: isRow && event.before !== undefined,
			hasAfter: isRow && event.after !== undefined,
			atMicros: event.atMicros,
		};
		return core.change(generation, about, position, this.#now);
	}

	#countSkipped(stream: SourceStream<C>): void {
		const now = stream.skipped ?? 0;
		if (now > this.#skipped) {
			tell(this.#parts.observer, 'feedSkipped', this.#parts.name, now - this.#skipped);
		}
		this.#skipped = now;
	}

	#failed(generation: number, abort: AbortController, error: unknown): void {
		if (abort.signal.aborted || this.#isOver) return;
		this.#error = error;
		this.#act((core) => {
			const failure = failureOf(error);
			let delayMs: number | undefined;
			if (failure.kind !== 'fatal' && this.#parts.backoff !== undefined) {
				try {
					delayMs = this.#parts.backoff(core.nextAttempt(this.#now));
				} catch (thrown) {
					this.#error = thrown;
					failure.kind = 'fatal';
				}
				if (!(delayMs !== undefined && delayMs >= 0)) delayMs = undefined;
			}
			core.failed(generation, { ...failure, delayMs }, this.#now);
		});
	}

	async #hand(call: () => unknown): Promise<void> {
		try {
			await call();
		} catch (error) {
			this.#error = error;
			this.#act((core) => core.handlerFailed(this.#now));
			return;
		}
		this.#act((core) => {
			core.handled(this.#now);
			this.#parts.reached(core.position());
		});
	}

	#drop(): void {
		this.#abort?.abort();
		this.#abort = undefined;
		this.#event = undefined;
		if (this.#stream !== undefined) closeQuietly(this.#stream);
		this.#stream = undefined;
	}

	#finish(outcome: Extract<ConsumerAction, { kind: 'finished' }>['outcome']): void {
		const position = this.#parts.core.position();
		this.#parts.reached(position);
		this.#close();
		if (outcome === 'stopped') this.#settle.resolve(position);
		else this.#settle.reject(this.#reasonOf(outcome));
	}

	#reasonOf(outcome: string): unknown {
		if (outcome === 'bad_position') return new InvalidError(`a position has at most ${MAX_POSITION} bytes`);
		if (outcome === 'history_lost' && !(this.#error instanceof HistoryLostError)) {
			return new HistoryLostError('run: history was lost again and again at one position');
		}
		return this.#error;
	}

	#close(): void {
		this.#isOver = true;
		this.#stopTimer?.();
		this.#stopListening();
		this.#stopSignal();
		this.#drop();
		this.#parts.core.dispose();
	}
}

/** As in src/changefeed/consumer.hpp. */
const MAX_POSITION = 64 * 1024;

function within(position: Position): Position {
	if (!(position instanceof Uint8Array)) throw new ConfigError('a source has positions that are no bytes');
	if (position.length > MAX_POSITION) {
		throw new ConfigError(`a source has positions above ${MAX_POSITION} bytes`);
	}
	return position;
}

function closeQuietly(stream: SourceStream): void {
	// It is not read any more: how its end goes changes nothing.
	void (async () => stream.close())().catch(() => {});
}
