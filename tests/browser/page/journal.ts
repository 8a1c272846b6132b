// An application that keeps a row for every record that it read, written together with the position. Rows get their keys
// from the database, so one that is written twice is there twice.
import {
	type Batch,
	type DurableWatcher,
	IndexedDbStore,
	Laser,
	PositionConflictError,
	type TopicRecord,
} from 'tidemark';

export interface JournalSetup {
	ws: string;
	stream: string;
	topic: string;
	name: string;
	/** Records per request, and bytes of one batch. */
	batch?: number;
	byteCap?: number;
	/** Of the database. Default: `name`. */
	database?: string;
	watchdogMs?: number;
}

const LOGIN = { username: 'iggy', password: 'iggy' };

export class Journal {
	conflicts = 0;
	readonly states: string[] = [];
	readonly failures: string[] = [];
	readonly persistence: string[] = [];
	readonly gaps: string[] = [];
	#abort: AbortController | undefined;
	#loop: Promise<void> | undefined;

	private constructor(
		readonly laser: Laser,
		readonly watcher: DurableWatcher<TopicRecord, IDBTransaction>,
		readonly store: IndexedDbStore,
	) {
		watcher.addEventListener('state', (event) => this.states.push(event.state));
		watcher.addEventListener('persistence', (event) => this.persistence.push(event.persistence));
		watcher.addEventListener('gap', ({ gap }) =>
			this.gaps.push(`${gap.partitionId} ${gap.asked} ${gap.firstAvailable} ${gap.reason}`),
		);
	}

	static async open(setup: JournalSetup): Promise<Journal> {
		const laser = await Laser.connect(setup.ws, {
			...LOGIN,
			...(setup.watchdogMs === undefined ? {} : { watchdogMs: setup.watchdogMs }),
		});
		const store = new IndexedDbStore({
			name: setup.database ?? setup.name,
			upgrade: (database) => database.createObjectStore('rows', { autoIncrement: true }),
		});
		const watcher = laser
			.stream(setup.stream)
			.topic(setup.topic)
			.durable(setup.name, {
				store,
				...(setup.batch === undefined ? {} : { batch: setup.batch }),
				...(setup.byteCap === undefined ? {} : { byteCap: setup.byteCap }),
			});
		return new Journal(laser, watcher, store);
	}

	/** What to give to `commit` of a batch. */
	rowsOf(batch: Batch<TopicRecord, IDBTransaction>): (transaction: IDBTransaction) => void {
		return (transaction) => {
			const rows = transaction.objectStore('rows');
			for (const record of batch.changes) rows.put(`${record.partitionId}:${record.offset}`);
		};
	}

	/** Commits whatever comes, in the background, until `stop`. */
	follow(intervalMs = 20): void {
		const abort = new AbortController();
		this.#abort = abort;
		this.#loop = (async () => {
			for await (const batch of this.watcher.follow({ intervalMs, signal: abort.signal })) {
				try {
					await batch.commit(this.rowsOf(batch));
				} catch (error) {
					if (!(error instanceof PositionConflictError)) throw error;
					this.conflicts += 1;
				}
			}
		})().catch((error: unknown) => {
			if (!abort.signal.aborted) this.failures.push(String(error));
		});
	}

	async stop(): Promise<void> {
		this.#abort?.abort();
		await this.#loop;
	}

	/** `partition:offset` of every row, in the order in which they were written. */
	async rows(): Promise<string[]> {
		return this.store.transaction(['rows'], 'readonly', (transaction) => {
			const asked = transaction.objectStore('rows').getAll() as IDBRequest<string[]>;
			return new Promise((resolve, reject) => {
				asked.onsuccess = () => resolve(asked.result);
				asked.onerror = () => reject(asked.error);
			});
		});
	}

	async rowsAtLeast(count: number, withinMs = 30_000): Promise<string[]> {
		const deadline = performance.now() + withinMs;
		for (;;) {
			const rows = await this.rows();
			if (rows.length >= count || performance.now() > deadline) return rows;
			await sleep(20);
		}
	}
}

export function sleep(ms: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, ms));
}

/** As in a browser that has none. */
export function removeLocks(): void {
	Object.defineProperty(Navigator.prototype, 'locks', { value: undefined, configurable: true });
}

/** The journal of this page, where a test needs it in more than one step. */
export let current: Journal;

export async function open(setup: JournalSetup): Promise<Journal> {
	current = await Journal.open(setup);
	return current;
}

export async function start(setup: JournalSetup, intervalMs?: number): Promise<void> {
	(await open(setup)).follow(intervalMs);
}
