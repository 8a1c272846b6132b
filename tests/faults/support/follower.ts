import { type DurableWatcher, type Gap, type Laser, LaserError, MemoryStore } from '../../../js/index.js';
import type { MemoryTransaction } from '../../../js/storage/memory-store.js';
import type { TopicRecord } from '../../../js/topic/record.js';
import { type Seen, sleep, until } from './world.js';

/**
 * An application that follows a topic, writes down what it commits, and starts again when the feed ends with an error,
 * as applications do.
 */
export class Follower {
	readonly rows: number[] = [];
	readonly gaps: Gap[] = [];
	readonly errors: LaserError[] = [];
	readonly states: string[] = [];
	readonly store = new MemoryStore();
	readonly watcher: DurableWatcher<TopicRecord<undefined>, MemoryTransaction>;
	readonly #abort = new AbortController();
	readonly #done: Promise<void>;

	constructor(
		laser: Laser,
		topic: string,
		options: { seen?: Seen; batch?: number; onHistoryLost?: 'earliest' | 'now' } = {},
	) {
		const { seen, ...durable } = options;
		this.watcher = laser.topic(topic).durable(`follow ${topic}`, { store: this.store, ...durable });
		this.watcher.addEventListener('gap', (event) => {
			this.gaps.push(event.gap);
			seen?.add(event);
		});
		this.watcher.addEventListener('state', (event) => this.states.push(event.state));
		this.#done = this.#run(seen);
	}

	/** Waits until this many records were committed. */
	async reach(count: number, withinMs = 10_000): Promise<void> {
		await until(
			`${count} records followed; there are ${this.rows.length}, errors ${this.errors.map(String).join('; ')}`,
			() => this.rows.length >= count,
			withinMs,
		);
	}

	async stop(): Promise<void> {
		this.#abort.abort();
		await this.#done;
	}

	async #run(seen: Seen | undefined): Promise<void> {
		const { signal } = this.#abort;
		while (!signal.aborted) {
			try {
				for await (const batch of this.watcher.follow({ intervalMs: 10, signal })) {
					await batch.commit(() => {
						for (const record of batch.changes) this.rows.push(record.json<{ n: number }>().n);
					});
				}
			} catch (error) {
				if (signal.aborted) return;
				if (!(error instanceof LaserError)) throw error;
				this.errors.push(error);
				seen?.add(error);
				await sleep(20);
			}
		}
	}
}
