import { LazyCore } from '../core/consumer.js';
import { ConfigError } from '../errors/index.js';
import type { ConsumerBase } from './consumer.js';
import { tell } from './observer.js';
import type { Change, Handler } from './types.js';

/** A handler that shares a consumer with others. */
export interface Subscriber<C extends Change = Change> extends Handler<C> {
	/** It threw, or the consumer's run failed: it was released and hears nothing more. */
	failed?(error: unknown): void;
}

const DEFAULT_GRACE_MS = 30_000;

interface Member<C extends Change> {
	readonly subscriber: Subscriber<C>;
	/** The core's name for it, once the core is loaded. */
	id: number;
	/** Ends the wait for a call that it has not come back from. */
	leave: () => void;
}

/**
 * Shares one consumer among subscribers: opens, from now, with the first, and closes some time after the last has left.
 * With no subscribers nothing is read; one that returns in time finds the same stream, and what came meanwhile.
 */
export class Lazy<C extends Change = Change> {
	readonly #consumer: ConsumerBase<C>;
	readonly #graceMs: number;
	readonly #members = new Set<Member<C>>();
	#core: LazyCore | undefined;
	#isLoading = false;
	#isClosed = false;
	#isRunning = false;
	#stop: AbortController | undefined;
	#stopTimer: (() => void) | undefined;

	constructor(options: { consumer: ConsumerBase<C>; graceMs?: number }) {
		const graceMs = options.graceMs ?? DEFAULT_GRACE_MS;
		if (!(graceMs >= 0)) throw new ConfigError('lazy: the grace is 0 ms or more');
		this.#consumer = options.consumer;
		this.#graceMs = graceMs;
	}

	get subscribers(): number {
		return this.#members.size;
	}

	/**
	 * Adds a subscriber; the returned function releases it, however often it is called. Each is called one call at a time,
	 * all of them at once for one change, and the slowest sets the pace.
	 */
	acquire(subscriber: Subscriber<C>): () => void {
		if (this.#isClosed) return () => {};
		const member: Member<C> = { subscriber, id: 0, leave: () => {} };
		this.#members.add(member);
		this.#enter(member);
		return () => this.#release(member);
	}

	/** Takes effect at once on an open stream, otherwise at the next opening. */
	setWatched(set: Parameters<ConsumerBase<C>['setWatched']>[0]): void {
		this.#consumer.setWatched(set);
	}

	/** Stops whatever the subscribers, for good. */
	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		for (const member of this.#members) member.leave();
		this.#members.clear();
		this.#core?.close(this.#now);
		this.#work();
	}

	get #now() {
		return this.#consumer.clock.now();
	}

	#enter(member: Member<C>): void {
		if (this.#core !== undefined) {
			member.id = this.#core.acquire(this.#now);
			this.#work();
			return;
		}
		if (this.#isLoading) return;
		this.#isLoading = true;
		this.#consumer
			.load()
			.then((module) => {
				if (this.#isClosed) return;
				this.#core = new LazyCore(module, this.#graceMs);
				for (const one of this.#members) one.id = this.#core.acquire(this.#now);
				this.#work();
			})
			.catch((error: unknown) => this.#failAll(error))
			.finally(() => {
				this.#isLoading = false;
			});
	}

	#release(member: Member<C>): void {
		if (!this.#members.delete(member)) return;
		member.leave();
		if (member.id !== 0) this.#core?.release(member.id, this.#now);
		this.#work();
	}

	#work(): void {
		this.#stopTimer?.();
		this.#stopTimer = undefined;
		const core = this.#core;
		if (core === undefined) return;
		const { clock } = this.#consumer;
		for (;;) {
			const action = core.poll(clock.now());
			if (action === 'none') break;
			if (action === 'run') void this.#run();
			else if (action === 'stop') this.#stop?.abort();
			else this.#consumer.hold(action === 'hold');
		}
		if (this.#isClosed && !this.#isRunning) {
			core.dispose();
			this.#core = undefined;
			return;
		}
		const deadline = core.deadline();
		if (deadline === undefined) return;
		this.#stopTimer = clock.after(deadline - clock.now().mono, () => this.#work());
	}

	async #run(): Promise<void> {
		const stop = new AbortController();
		this.#stop = stop;
		this.#isRunning = true;
		this.#consumer.hold(false);
		try {
			await this.#consumer.runFor(this.#fanOut(), undefined, stop.signal);
		} catch (error) {
			this.#failAll(error);
		}
		this.#isRunning = false;
		this.#core?.ended(this.#now);
		this.#work();
	}

	#fanOut(): Handler<C> {
		const own = this.#consumer.handler;
		return {
			change: async (change, at) => {
				await own?.change(change, at);
				await this.#toAll((one) => one.change(change, at));
			},
			idle: async (at) => {
				await own?.idle?.(at);
				await this.#toAll((one) => one.idle?.(at));
			},
			gap: async (gap) => {
				await own?.gap?.(gap);
				await this.#toAll((one) => one.gap?.(gap));
			},
		};
	}

	async #toAll(call: (subscriber: Subscriber<C>) => unknown): Promise<void> {
		await Promise.all(
			[...this.#members].map(async (member) => {
				try {
					await new Promise<void>((resolve, reject) => {
						member.leave = resolve;
						(async () => call(member.subscriber))().then(() => resolve(), reject);
					});
				} catch (error) {
					this.#fail(member, error);
				}
			}),
		);
	}

	#failAll(error: unknown): void {
		for (const member of [...this.#members]) this.#fail(member, error);
	}

	#fail(member: Member<C>, error: unknown): void {
		if (!this.#members.has(member)) return;
		this.#release(member);
		tell(this.#consumer.observer, 'feedSubscriberFailed', this.#consumer.name, error);
		try {
			member.subscriber.failed?.(error);
		} catch {
			// It has been told; the others go on.
		}
	}
}
