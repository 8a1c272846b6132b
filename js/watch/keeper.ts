import type { Positions, SourceIdentity } from '../core/contract.js';
import { ConfigError, type LaserError, PositionConflictError, StorageError } from '../errors/index.js';
import type { Clock } from '../platform/clock.js';
import {
	type PositionSource,
	type Store,
	type StoredPosition,
	type StoreKey,
	samePositions,
} from '../storage/store.js';
import type { Persistence } from './events.js';

export interface Place {
	positions: Positions;
	identity: SourceIdentity | undefined;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/**
 * The stored position of one durable name, and what happens when it cannot be stored: the feed goes on in memory, one
 * attempt per back-off step is made to store again, and when that works, reading restarts where storing ended.
 */
export class PositionKeeper<Tx> {
	readonly #store: Store<Tx>;
	readonly #key: StoreKey;
	readonly #clock: Clock;
	readonly #onPersistence: (persistence: Persistence, error: LaserError | undefined) => void;
	readonly #onRecovered: () => void;
	#persistence: Persistence;
	/** What the store held when last seen: every update insists on it. */
	#mark: StoredPosition | undefined;
	/** Where the feed got to while nothing can be stored. */
	#unstored: Place | undefined;
	#retryMs = FIRST_RETRY_MS;
	#stopRetry: (() => void) | undefined;
	#attempt: Promise<void> | undefined;

	constructor(parts: {
		store: Store<Tx>;
		key: StoreKey;
		clock: Clock;
		onPersistence: (persistence: Persistence, error: LaserError | undefined) => void;
		onRecovered: () => void;
	}) {
		this.#store = parts.store;
		this.#key = parts.key;
		this.#clock = parts.clock;
		this.#onPersistence = parts.onPersistence;
		this.#onRecovered = parts.onRecovered;
		this.#persistence = parts.store.persistent ? 'persistent' : 'memory';
	}

	get persistence(): Persistence {
		return this.#persistence;
	}

	/** The last place known to be committed, in memory where nothing can be stored. */
	get place(): Place | undefined {
		return this.#unstored ?? this.#mark;
	}

	/**
	 * Reads the stored position. A new owner makes commits of whoever had the name before be refused from now on.
	 * Storage that fails is not the caller's problem: it gets what is known in memory.
	 *
	 * @throws {ConfigError} the name belongs to another source
	 * @throws {StorageError} `corrupted`: what is stored cannot be trusted
	 */
	async load(source: PositionSource, isNewOwner: boolean): Promise<Place | undefined> {
		if (this.#persistence === 'lost') return this.place;
		try {
			let found: StoredPosition | undefined;
			const look = (stored: StoredPosition | undefined): void => {
				found = stored;
				if (stored !== undefined) checkSource(stored.source, source, this.#key.name);
			};
			if (isNewOwner) {
				await this.#store.update(this.#key, (stored) => {
					look(stored && { ...stored, epoch: stored.epoch + 1 });
					return found === undefined ? 'keep' : { put: found };
				});
			} else {
				look(await this.#store.read(this.#key));
			}
			this.#mark = found;
		} catch (error) {
			this.#degrade(error);
		}
		return this.place;
	}

	/**
	 * Moves the position, together with what `write` writes.
	 *
	 * @returns whether it was stored
	 * @throws {PositionConflictError} somebody else moved it; nothing was written
	 * @throws what `write` throws; nothing was written
	 */
	async commit(to: Place, source: PositionSource, write?: (transaction: Tx) => unknown): Promise<boolean> {
		if (this.#persistence === 'lost') {
			this.#unstored = to;
			return false;
		}
		const next: StoredPosition = {
			...to,
			epoch: this.#mark?.epoch ?? 1,
			updatedAt: this.#clock.now().wall,
			source,
		};
		try {
			await this.#store.update(
				this.#key,
				(stored) => {
					this.#insist(stored);
					return { put: next };
				},
				write,
			);
		} catch (error) {
			this.#degrade(error);
			this.#unstored = to;
			return false;
		}
		this.#mark = next;
		this.#retryMs = FIRST_RETRY_MS;
		return this.#store.persistent;
	}

	/** Moves the position by hand, whatever is stored: batches that were read before can no longer be committed. */
	async move(
		to: Place | undefined,
		source: PositionSource,
		write?: (transaction: Tx) => unknown,
	): Promise<void> {
		let put: StoredPosition | undefined;
		await this.#store.update(
			this.#key,
			(stored) => {
				if (to === undefined) return 'remove';
				put = { ...to, epoch: (stored?.epoch ?? 0) + 1, updatedAt: this.#clock.now().wall, source };
				return { put };
			},
			write,
		);
		this.#mark = put;
		this.#unstored = undefined;
	}

	/** Tries to store again now: the page became visible, or its time has come. */
	retryNow(): void {
		if (this.#persistence !== 'lost') return;
		this.#attempt ??= this.#recover().finally(() => {
			this.#attempt = undefined;
		});
	}

	stop(): void {
		this.#stopRetry?.();
		this.#stopRetry = undefined;
	}

	/** Takes the retry up again where `stop` left it. */
	start(): void {
		if (this.#persistence === 'lost' && this.#stopRetry === undefined) this.#schedule();
	}

	#insist(stored: StoredPosition | undefined): void {
		const mark = this.#mark;
		const isSame =
			stored === undefined || mark === undefined
				? stored === mark
				: stored.epoch === mark.epoch && samePositions(stored.positions, mark.positions);
		if (!isSame) {
			throw new PositionConflictError(
				`commit: the position of "${this.#key.name}" was moved by somebody else`,
			);
		}
	}

	#degrade(error: unknown): void {
		// Whoever goes on without a damaged position begins anew: not without being told to.
		if (!(error instanceof StorageError) || error.reason === 'corrupted') throw error;
		if (this.#persistence === 'lost') return;
		this.#unstored = this.place;
		this.#persistence = 'lost';
		this.#onPersistence('lost', error);
		this.#schedule();
	}

	#schedule(): void {
		this.#stopRetry?.();
		this.#stopRetry = this.#clock.after(this.#retryMs, () => {
			this.#stopRetry = undefined;
			this.retryNow();
		});
		this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
	}

	/** Reading alone proves nothing where the room ran out: what is stored is written once more. */
	async #recover(): Promise<void> {
		try {
			await this.#store.update(this.#key, (stored) => {
				this.#mark = stored;
				return stored === undefined ? 'keep' : { put: stored };
			});
		} catch {
			this.#schedule();
			return;
		}
		this.stop();
		this.#unstored = undefined;
		this.#persistence = 'persistent';
		this.#onPersistence('persistent', undefined);
		this.#onRecovered();
	}
}

function checkSource(stored: PositionSource, wanted: PositionSource, name: string): void {
	const isSame =
		stored.content === wanted.content &&
		stored.stream === wanted.stream &&
		stored.topic === wanted.topic &&
		stored.index === wanted.index;
	if (!isSame) {
		throw new ConfigError(
			`durable "${name}" belongs to ${describe(stored)}, not to ${describe(wanted)}: take another name, or forget it`,
		);
	}
}

function describe({ stream, topic, index }: PositionSource): string {
	return `${stream}/${topic}${index === undefined ? '' : ` (index ${index})`}`;
}
