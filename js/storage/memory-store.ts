import type { Decision, Store, StoredEntry, StoredPosition, StoreKey } from './store.js';

/** What `commit(fn)` gets from a MemoryStore: named tables of rows. Reads see the transaction's own writes. */
export class MemoryTransaction {
	readonly #tables: Map<string, Map<unknown, unknown>>;
	readonly #staged = new Map<string, Map<unknown, unknown>>();

	constructor(tables: Map<string, Map<unknown, unknown>>) {
		this.#tables = tables;
	}

	get(table: string, key: unknown): unknown {
		return this.#table(table).get(key);
	}

	getAll(table: string): unknown[] {
		return [...this.#table(table).values()];
	}

	put(table: string, key: unknown, value: unknown): void {
		this.#table(table).set(key, value);
	}

	delete(table: string, key: unknown): void {
		this.#table(table).delete(key);
	}

	clear(table: string): void {
		this.#table(table).clear();
	}

	/** @internal */
	apply(): void {
		for (const [name, rows] of this.#staged) this.#tables.set(name, rows);
	}

	#table(name: string): Map<unknown, unknown> {
		let rows = this.#staged.get(name);
		if (rows === undefined) {
			rows = new Map(this.#tables.get(name));
			this.#staged.set(name, rows);
		}
		return rows;
	}
}

/** Keeps positions for as long as the object lives. For tests, and where there is nothing to store in. */
export class MemoryStore implements Store<MemoryTransaction> {
	readonly persistent = false;
	readonly shared = false;
	readonly needsScope = false;
	readonly #entries = new Map<string, StoredEntry>();
	/** Rows per scope. */
	readonly #tables = new Map<string, Map<string, Map<unknown, unknown>>>();
	#last: Promise<unknown> = Promise.resolve();

	async read(key: StoreKey): Promise<StoredPosition | undefined> {
		return this.#entries.get(idOf(key));
	}

	update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write?: (transaction: MemoryTransaction) => unknown,
	): Promise<void> {
		const turn = this.#last.then(async () => {
			const id = idOf(key);
			const decision = decide(this.#entries.get(id));
			const transaction = new MemoryTransaction(this.#tablesOf(key.scope));
			await write?.(transaction);
			transaction.apply();
			if (decision === 'remove') this.#entries.delete(id);
			else if (decision !== 'keep') this.#entries.set(id, { ...decision.put, ...key });
		});
		this.#last = turn.catch(() => {});
		return turn;
	}

	/** Rows of a table that commits have written. */
	rows(table: string, scope = 'default'): ReadonlyMap<unknown, unknown> {
		return this.#tablesOf(scope).get(table) ?? new Map();
	}

	async list(scope?: string): Promise<StoredEntry[]> {
		return [...this.#entries.values()].filter((entry) => scope === undefined || entry.scope === scope);
	}

	async clear(scope: string): Promise<void> {
		for (const [id, entry] of this.#entries) if (entry.scope === scope) this.#entries.delete(id);
		this.#tables.delete(scope);
	}

	#tablesOf(scope: string): Map<string, Map<unknown, unknown>> {
		let tables = this.#tables.get(scope);
		if (tables === undefined) {
			tables = new Map();
			this.#tables.set(scope, tables);
		}
		return tables;
	}
}

function idOf(key: StoreKey): string {
	return JSON.stringify([key.scope, key.name]);
}
