import {
	type Batch,
	type ChangeRecord,
	type DurableWatcher,
	type Gap,
	IndexedDbStore,
	Laser,
	ProjectionBindingBuilder,
	ProjectionBuilder,
} from 'tidemark';

export const STREAM = 'demo';
export const TOPIC = 'orders';
export const INDEX = 'orders_v1';

export interface Order {
	id: string;
	item: string;
	status: string;
	total: number;
}

/** One line of the change feed, kept in IndexedDB together with the position. */
export interface FeedEntry {
	/** Set by the database, ascending. */
	key?: number;
	text: string;
	detail: string;
	rows: number;
	atMs: number;
	gap: boolean;
}

const CHANGES = 'changes';

/**
 * Each open tab keeps a place of its own and finds it again after a reload or a crash: it takes the first free slot, and
 * holds it for as long as it lives.
 */
async function takeSlot(): Promise<string> {
	if (navigator.locks === undefined) return 'tab-1';
	for (let slot = 1; ; slot += 1) {
		const name = `tab-${slot}`;
		const taken = await new Promise<boolean>((resolve) => {
			void navigator.locks.request(`tidemark-demo-${name}`, { ifAvailable: true }, (lock) => {
				resolve(lock !== null);
				return lock === null ? undefined : new Promise(() => {});
			});
		});
		if (taken) return name;
	}
}

function request<T>(asked: IDBRequest<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		asked.onsuccess = () => resolve(asked.result);
		asked.onerror = () => reject(asked.error);
	});
}

export class Model {
	private constructor(
		readonly laser: Laser,
		readonly watcher: DurableWatcher<ChangeRecord>,
		private readonly store: IndexedDbStore,
		private readonly slot: string,
	) {}

	static async open(url: string): Promise<Model> {
		const slot = await takeSlot();
		const laser = await Laser.connectWithStream(url, STREAM, {
			username: 'iggy',
			password: 'iggy',
			// The server may be started after the page: keep trying for as long as somebody looks at it.
			connectTimeoutMs: 600_000,
		});
		await laser.waitUntilReady(60_000);
		await laser.stream(STREAM).ensure();
		await laser.topic(TOPIC).ensure(1);
		await laser
			.projections()
			.register(
				new ProjectionBuilder(`${INDEX}.v1`)
					.name('orders')
					.contentType('json')
					.fields(['id', 'item', 'status', 'total'])
					.build(),
			);
		await laser
			.bindings()
			.apply(
				new ProjectionBindingBuilder()
					.source(STREAM, TOPIC)
					.allow(`${INDEX}.v1`)
					.defaultProjection(`${INDEX}.v1`)
					.index(INDEX)
					.notify()
					.build(),
			);
		const store = new IndexedDbStore({
			name: `demo-${slot}`,
			upgrade: (database) => {
				database.createObjectStore(CHANGES, { keyPath: 'key', autoIncrement: true });
			},
		});
		const watcher = laser.watch().index(INDEX).durable(`orders-${slot}`, { store });
		return new Model(laser, watcher, store, slot);
	}

	get place(): string {
		return this.slot;
	}

	async publish(orders: readonly Order[]): Promise<void> {
		const topic = this.laser.topic(TOPIC);
		if (orders.length === 1) {
			await topic.publish().json(orders[0]).send();
			return;
		}
		const batch = topic.publishBatch();
		for (const order of orders) batch.addJson(order);
		await batch.send();
	}

	/** The newest rows of the index. */
	async orders(): Promise<Order[]> {
		const result = await this.laser.query(INDEX).orderDesc('id').limit(100).readYourWrites().fetch();
		return result.objects().map((row) => ({
			id: String(row['id'] ?? ''),
			item: String(row['item'] ?? ''),
			status: String(row['status'] ?? ''),
			total: Number(row['total'] ?? 0),
		}));
	}

	/** Writes a batch's lines and its position in one transaction. */
	async commit(batch: Batch<ChangeRecord>): Promise<FeedEntry[]> {
		const entries = entriesOf(batch);
		await batch.commit(async (transaction) => {
			const changes = transaction.objectStore(CHANGES);
			for (const entry of entries) entry.key = (await request(changes.add(entry))) as number;
		});
		return entries;
	}

	/** What this tab's place has seen so far, oldest first. */
	async history(): Promise<FeedEntry[]> {
		return this.store.transaction([CHANGES], 'readonly', (transaction) =>
			request(transaction.objectStore(CHANGES).getAll() as IDBRequest<FeedEntry[]>),
		);
	}

	/** Where this tab's place was left: next offset to read of each feed partition. */
	async storedPosition(): Promise<ReadonlyMap<number, bigint>> {
		const stored = await this.store.list();
		return stored.find((entry) => entry.name === this.watcher.name)?.positions ?? new Map();
	}

	async forget(): Promise<void> {
		await this.watcher.forget();
		await this.store.transaction([CHANGES], 'readwrite', (transaction) =>
			request(transaction.objectStore(CHANGES).clear()),
		);
	}
}

function entriesOf(batch: Batch<ChangeRecord>): FeedEntry[] {
	const lost: FeedEntry[] = (batch.gaps ?? []).map((gap: Gap) => ({
		text: 'History lost',
		detail: `feed partition ${gap.partitionId}: asked for offset ${gap.asked}, ${
			gap.firstAvailable === undefined ? 'nothing is left' : `the first one there is ${gap.firstAvailable}`
		} (${gap.reason.replaceAll('_', ' ')})`,
		rows: 0,
		atMs: Date.now(),
		gap: true,
	}));
	const changes = batch.changes.map((change, index) => ({
		text: `view advanced: ${change.rows} row(s), source offsets ${change.fromOffset}..${change.toOffset}`,
		detail: `feed offset ${batch.columns.offset[index]} · source partition ${change.partitionId}`,
		rows: change.rows,
		atMs: Number((batch.columns.timestampMicros[index] ?? 0n) / 1000n),
		gap: false,
	}));
	return [...lost, ...changes];
}
