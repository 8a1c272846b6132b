import type { Now } from './contract.js';
import type { CoreModule } from './load.js';
import { TapeWriter } from './tape.js';

/** The Embind classes of wasm/consumer.cpp. `mono` and `wall` are milliseconds. */
export interface NativeConsumer {
	input(length: number): number;
	descriptor(): number;
	start(length: number): void;
	/** An input by its place in `INPUTS`. */
	tell(
		what: number,
		generation: number,
		detail: number,
		number: number,
		length: number,
		mono: number,
		wall: number,
	): number;
	poll(mono: number, wall: number): number;
	deadline(): number;
	/** Of the gap, or the one reached. */
	position(ofGap: number): number;
	delete(): void;
}

export interface NativeLazy {
	/** Once, before everything else. */
	start(graceMs: number): void;
	/** An input by its place in `LAZY_INPUTS`. */
	tell(what: number, subscriber: number, mono: number, wall: number): number;
	deadline(): number;
	delete(): void;
}

const INPUTS = [
	'watch',
	'run',
	'stop',
	'hold',
	'wake',
	'opened',
	'change',
	'idle',
	'failed',
	'handled',
	'handler_failed',
	'next_attempt',
] as const;
const LAZY_INPUTS = ['acquire', 'release', 'close', 'ended', 'poll'] as const;

interface Details {
	generation?: number;
	detail?: number;
	number?: number;
	bytes?: Uint8Array;
}

/** What the target that has consumers brings along beside `Glue`. */
export interface ConsumerGlue {
	readonly Consumer: new () => NativeConsumer;
	readonly Lazy: new () => NativeLazy;
}

export const OPS = ['insert', 'update', 'replace', 'delete', 'advance'] as const;
export const FROMS = ['now', 'position', 'earliest'] as const;
export const REASONS = ['none', 'set_changed', 'error', 'history_lost'] as const;
export const OUTCOMES = [
	'stopped',
	'handler_failed',
	'source_failed',
	'history_lost',
	'bad_position',
] as const;
export const ON_HISTORY_LOST = ['now', 'earliest', 'stop'] as const;
const FAILURES = ['error', 'history_lost', 'fatal'] as const;
const LAZY_ACTIONS = ['none', 'run', 'stop', 'hold', 'resume'] as const;

export type Op = (typeof OPS)[number];
export type OnHistoryLost = (typeof ON_HISTORY_LOST)[number];
export type ReopenReason = Exclude<(typeof REASONS)[number], 'none'>;
export type FailureKind = (typeof FAILURES)[number];
export type LazyAction = (typeof LAZY_ACTIONS)[number];

/** How a change is to be handed over. */
export interface Admission {
	outlineOnly: boolean;
	complete: boolean;
	fieldNames: boolean;
}

export type ConsumerAction =
	| { kind: 'none' }
	| { kind: 'close' | 'next'; generation: number }
	| { kind: 'open'; generation: number; from: (typeof FROMS)[number] }
	| { kind: 'change'; admission: Admission }
	| { kind: 'idle' }
	| { kind: 'gap'; atMicros: bigint }
	| { kind: 'feed_state'; open: boolean; watched: number }
	| { kind: 'feed_reopened'; reason: ReopenReason }
	| { kind: 'feed_event'; op: Op; system: boolean }
	| { kind: 'feed_lag'; lagMs: number }
	| { kind: 'finished'; outcome: (typeof OUTCOMES)[number] };

const KINDS = [
	'none',
	'close',
	'open',
	'next',
	'change',
	'idle',
	'gap',
	'feed_state',
	'feed_reopened',
	'feed_event',
	'feed_lag',
	'finished',
] as const;

/** What the core wants to know of a change. */
export interface Outline {
	op: Op;
	system: boolean;
	hasBefore: boolean;
	hasAfter: boolean;
	atMicros: bigint;
}

export interface CollectionEntry {
	realm: string;
	database: string;
	collection: string;
	system: boolean;
}

/** The consumer's decisions. Owned by one run: dispose() frees it. */
export class ConsumerCore {
	readonly #memory: CoreModule['memory'];
	readonly #native: NativeConsumer;
	readonly #tape = new TapeWriter();
	readonly #descriptor: number;

	constructor(
		module: CoreModule,
		options: { firstMs: number; longestMs: number; onHistoryLost: OnHistoryLost; seed: BigUint64Array },
	) {
		this.#memory = module.memory;
		const { Consumer } = module.glue as unknown as ConsumerGlue;
		this.#native = new Consumer();
		this.#descriptor = this.#native.descriptor();
		this.#native.start(
			this.#put(
				this.#tape.encode([
					options.firstMs,
					options.longestMs,
					ON_HISTORY_LOST.indexOf(options.onHistoryLost),
					...options.seed,
				]),
			),
		);
	}

	watch(collections: readonly CollectionEntry[], now: Now): void {
		const list = collections.flatMap((one) => [one.realm, one.database, one.collection, one.system]);
		this.#tell('watch', now, { bytes: this.#tape.encode(list) });
	}

	run(from: Uint8Array | undefined, now: Now): boolean {
		return this.#tell('run', now, from === undefined ? {} : { detail: 1, bytes: from }) !== 0;
	}

	stop(now: Now): void {
		this.#tell('stop', now);
	}

	hold(held: boolean, now: Now): void {
		this.#tell('hold', now, { detail: held ? 1 : 0 });
	}

	wake(now: Now): void {
		this.#tell('wake', now);
	}

	opened(generation: number, position: Uint8Array, now: Now): void {
		this.#tell('opened', now, { generation, bytes: position });
	}

	/** False: it is expected no more. */
	change(generation: number, about: Outline, position: Uint8Array, now: Now): boolean {
		const detail =
			OPS.indexOf(about.op) | (about.system ? 8 : 0) | (about.hasBefore ? 16 : 0) | (about.hasAfter ? 32 : 0);
		const number = Number(about.atMicros);
		return this.#tell('change', now, { generation, detail, number, bytes: position }) !== 0;
	}

	idle(generation: number, position: Uint8Array, now: Now): boolean {
		return this.#tell('idle', now, { generation, bytes: position }) !== 0;
	}

	failed(
		generation: number,
		failure: { kind: FailureKind; sharedCause: boolean; delayMs: number | undefined },
		now: Now,
	): void {
		const detail = FAILURES.indexOf(failure.kind) | (failure.sharedCause ? 4 : 0);
		this.#tell('failed', now, { generation, detail, number: failure.delayMs ?? -1 });
	}

	nextAttempt(now: Now): number {
		return this.#tell('next_attempt', now);
	}

	handled(now: Now): void {
		this.#tell('handled', now);
	}

	handlerFailed(now: Now): void {
		this.#tell('handler_failed', now);
	}

	poll(now: Now): ConsumerAction {
		const kind = KINDS[this.#native.poll(now.mono, now.wall)]!;
		const words = this.#memory.words();
		const word = (index: number): number => words[(this.#descriptor >>> 2) + index]!;
		const micros = (): bigint => (BigInt(word(10)) << 32n) | BigInt(word(9));
		switch (kind) {
			case 'none':
			case 'idle':
				return { kind };
			case 'close':
			case 'next':
				return { kind, generation: word(0) };
			case 'open':
				return { kind, generation: word(0), from: FROMS[word(1)]! };
			case 'change': {
				const bits = word(8);
				return {
					kind,
					admission: {
						outlineOnly: (bits & 1) !== 0,
						complete: (bits & 2) !== 0,
						fieldNames: (bits & 4) !== 0,
					},
				};
			}
			case 'gap':
				return { kind, atMicros: micros() };
			case 'feed_state':
				return { kind, open: word(4) !== 0, watched: word(5) };
			case 'feed_reopened':
				return { kind, reason: REASONS[word(2)] as ReopenReason };
			case 'feed_event':
				return { kind, op: OPS[word(6)]!, system: word(7) !== 0 };
			case 'feed_lag':
				return { kind, lagMs: Number(micros()) / 1000 };
			case 'finished':
				return { kind, outcome: OUTCOMES[word(3)]! };
		}
	}

	/** Monotonic ms when `poll` wants to be called next. */
	deadline(): number | undefined {
		const at = this.#native.deadline();
		return at < 0 ? undefined : at;
	}

	position(): Uint8Array | undefined {
		return this.#place(this.#native.position(0));
	}

	gapPosition(): Uint8Array | undefined {
		return this.#place(this.#native.position(1));
	}

	dispose(): void {
		this.#native.delete();
	}

	#place(there: number): Uint8Array | undefined {
		if (there === 0) return undefined;
		const words = this.#memory.words();
		const at = this.#descriptor >>> 2;
		return this.#memory.copy(words[at]!, words[at + 1]!);
	}

	#tell(
		what: (typeof INPUTS)[number],
		now: Now,
		{ generation = 0, detail = 0, number = 0, bytes }: Details = {},
	): number {
		const length = bytes === undefined ? 0 : this.#put(bytes);
		const input = INPUTS.indexOf(what);
		return this.#native.tell(input, generation, detail, number, length, now.mono, now.wall);
	}

	#put(bytes: Uint8Array): number {
		const address = this.#native.input(bytes.length);
		if (address === 0) throw new RangeError(`${bytes.length} bytes are too many`);
		this.#memory.write(address, bytes);
		return bytes.length;
	}
}

/** The decisions about sharing one consumer. */
export class LazyCore {
	readonly #native: NativeLazy;

	constructor(module: CoreModule, graceMs: number) {
		const { Lazy } = module.glue as unknown as ConsumerGlue;
		this.#native = new Lazy();
		this.#native.start(graceMs);
	}

	acquire(now: Now): number {
		return this.#tell('acquire', now);
	}

	release(subscriber: number, now: Now): void {
		this.#tell('release', now, subscriber);
	}

	close(now: Now): void {
		this.#tell('close', now);
	}

	ended(now: Now): void {
		this.#tell('ended', now);
	}

	poll(now: Now): LazyAction {
		return LAZY_ACTIONS[this.#tell('poll', now)]!;
	}

	deadline(): number | undefined {
		const at = this.#native.deadline();
		return at < 0 ? undefined : at;
	}

	dispose(): void {
		this.#native.delete();
	}

	#tell(what: (typeof LAZY_INPUTS)[number], now: Now, subscriber = 0): number {
		return this.#native.tell(LAZY_INPUTS.indexOf(what), subscriber, now.mono, now.wall);
	}
}
