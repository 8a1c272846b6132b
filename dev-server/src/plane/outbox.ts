/**
 * Changes owed to the feed: promised in the transaction of their batch, published after it, forgotten in a later one.
 * So none is lost to a crash; at most the last ones come twice after it.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Database } from './database.js';
import type { Change, Feed } from './feed.js';
import { type OwedChange, oweChange, owedChanges, settleOwed } from './progress.js';

/** Published changes are forgotten when it is quiet, or with a batch once there are so many. */
const FORGET_AFTER = 64n;

export class Outbox {
	readonly #owed: OwedChange[] = [];
	#nextId = 1n;
	/** Last id in the feed, and last id that the database has forgotten or is about to. */
	#published = 0n;
	#forgotten = 0n;
	#forgetting = 0n;

	constructor(
		private readonly database: Database,
		private readonly feed: Feed,
	) {}

	async open(): Promise<void> {
		this.#owed.push(...(await this.database.read(owedChanges)));
		this.#nextId = (this.#owed.at(-1)?.id ?? 0n) + 1n;
	}

	/** In the batch's transaction. The result is handed to `committed` once it is stored. */
	async promise(db: DuckDBConnection, change: Change | undefined): Promise<OwedChange | undefined> {
		this.#forgetting = this.#forgotten;
		if (this.#published >= this.#forgotten + FORGET_AFTER) {
			this.#forgetting = this.#published;
			await settleOwed(db, this.#forgetting);
		}
		if (change === undefined) return undefined;
		const owed = { id: this.#nextId, change };
		await oweChange(db, owed);
		return owed;
	}

	committed(owed: OwedChange | undefined): void {
		if (this.#forgetting > this.#forgotten) this.#forgotten = this.#forgetting;
		if (owed === undefined) return;
		this.#nextId = owed.id + 1n;
		this.#owed.push(owed);
	}

	/** Publishes in order. Throws when the feed does not take a change; that one stays owed. */
	async publish(): Promise<void> {
		for (let owed = this.#owed[0]; owed !== undefined; owed = this.#owed[0]) {
			await this.feed.publish(owed.change);
			this.#owed.shift();
			this.#published = owed.id;
		}
	}

	/** When nothing else is being written. */
	async tidy(): Promise<void> {
		if (this.#published === this.#forgotten) return;
		const upTo = this.#published;
		await this.database.transaction((db) => settleOwed(db, upTo));
		if (upTo > this.#forgotten) this.#forgotten = upTo;
	}
}
