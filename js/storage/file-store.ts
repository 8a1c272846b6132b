import { open, readFile, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, InvalidError, StorageError } from '../errors/index.js';
import { decodeContent, emptyContent, encodeContent, entryId, type FileContent } from './file-content.js';
import { codeOf, lockFile } from './file-lock.js';
import { fromJson, toJson } from './json-values.js';
import type { Decision, Store, StoredEntry, StoredPosition, StoreKey } from './store.js';

export interface FileStoreOptions {
	/** How long another process may keep the file to itself before an update fails, ms. Default 5,000. */
	blockedTimeoutMs?: number;
}

const BLOCKED_TIMEOUT_MS = 5_000;

/**
 * What `commit(fn)` gets from a FileStore: named tables of rows. Keys are texts; values are plain data, with bigint,
 * Uint8Array, Date and Map. Reads see the transaction's own writes.
 */
export class FileTransaction {
	readonly #tables: Map<string, Map<string, unknown>>;
	#isOpen = true;

	/** @internal */
	constructor(tables: Map<string, Map<string, unknown>>) {
		this.#tables = tables;
	}

	get(table: string, key: string): unknown {
		return this.#table(table).get(key);
	}

	getAll(table: string): unknown[] {
		return [...this.#table(table).values()];
	}

	/** @throws {InvalidError} the value is not plain data */
	put(table: string, key: string, value: unknown): void {
		// A copy: what the application changes afterwards is not part of the transaction.
		this.#table(table).set(key, fromJson(toJson(value)));
	}

	delete(table: string, key: string): void {
		this.#table(table).delete(key);
	}

	clear(table: string): void {
		this.#table(table).clear();
	}

	/** @internal */
	end(): void {
		this.#isOpen = false;
	}

	#table(name: string): Map<string, unknown> {
		if (!this.#isOpen) throw new InvalidError('transaction: it has ended');
		let rows = this.#tables.get(name);
		if (rows === undefined) {
			rows = new Map();
			this.#tables.set(name, rows);
		}
		return rows;
	}
}

/** Updates of one file in this process, one after the other. Processes keep apart by the lock. */
const turns = new Map<string, Promise<unknown>>();

/**
 * Positions and rows in one file, for Node, Deno and Bun. Every update writes the whole content beside it, flushes it to
 * the disk and puts it in the old one's place, so that a process killed at any moment leaves the one or the other. Made
 * for positions and few rows, not for a database. A damaged file is a StorageError (`corrupted`), never a fresh start.
 */
export class FileStore implements Store<FileTransaction> {
	readonly persistent = true;
	readonly shared = true;
	readonly needsScope = false;
	readonly #path: string;
	readonly #blockedTimeoutMs: number;

	/** @throws {ConfigError} no path */
	constructor(path: string | URL, options: FileStoreOptions = {}) {
		if (path === '') throw new ConfigError('FileStore: the path must not be empty');
		this.#path = resolve(path instanceof URL ? fileURLToPath(path) : path);
		this.#blockedTimeoutMs = options.blockedTimeoutMs ?? BLOCKED_TIMEOUT_MS;
	}

	async place(key: StoreKey): Promise<string> {
		return JSON.stringify([await this.#target(), key.scope, key.name]);
	}

	async read(key: StoreKey): Promise<StoredPosition | undefined> {
		return (await this.#load()).entries.get(entryId(key.scope, key.name));
	}

	/** Rows of a table that commits have written. */
	async rows(table: string, scope = 'default'): Promise<ReadonlyMap<string, unknown>> {
		return (await this.#load()).tables.get(scope)?.get(table) ?? new Map();
	}

	update(
		key: StoreKey,
		decide: (stored: StoredPosition | undefined) => Decision,
		write?: (transaction: FileTransaction) => unknown,
	): Promise<void> {
		return this.#change(async (content) => {
			const id = entryId(key.scope, key.name);
			const decision = decide(content.entries.get(id));
			if (write !== undefined) await runWrite(tablesOf(content, key.scope), write);
			if (decision === 'remove') content.entries.delete(id);
			else if (decision !== 'keep') {
				content.entries.set(id, { ...decision.put, scope: key.scope, name: key.name });
			}
			return decision !== 'keep' || write !== undefined;
		});
	}

	async list(scope?: string): Promise<StoredEntry[]> {
		const { entries } = await this.#load();
		return [...entries.values()].filter((entry) => scope === undefined || entry.scope === scope);
	}

	/** Positions and rows of the scope. */
	clear(scope: string): Promise<void> {
		return this.#change((content) => {
			for (const [id, entry] of content.entries) if (entry.scope === scope) content.entries.delete(id);
			content.tables.delete(scope);
			return true;
		});
	}

	/** The file itself where the path is a link to it: a link is not to be replaced. */
	async #target(): Promise<string> {
		try {
			return await realpath(this.#path);
		} catch (error) {
			if (codeOf(error) !== 'ENOENT') throw failure(error, 'open');
			try {
				return join(await realpath(dirname(this.#path)), basename(this.#path));
			} catch (cause) {
				throw failure(cause, 'open');
			}
		}
	}

	async #load(): Promise<FileContent> {
		return load(await this.#target());
	}

	async #change(body: (content: FileContent) => boolean | Promise<boolean>): Promise<void> {
		const target = await this.#target();
		const before = turns.get(target) ?? Promise.resolve();
		const turn = before.then(async () => {
			const release = await lockFile(`${target}.lock`, this.#blockedTimeoutMs).catch((cause: unknown) => {
				throw failure(cause, 'commit');
			});
			try {
				const content = await load(target);
				if (await body(content)) await replace(target, encodeContent(content));
			} finally {
				await release();
			}
		});
		const settled = turn.catch(() => {});
		turns.set(target, settled);
		try {
			await turn;
		} finally {
			if (turns.get(target) === settled) turns.delete(target);
		}
	}
}

async function load(target: string): Promise<FileContent> {
	let text: string;
	try {
		text = await readFile(target, 'utf8');
	} catch (error) {
		if (codeOf(error) === 'ENOENT') return emptyContent();
		throw failure(error, 'read');
	}
	return decodeContent(text, target);
}

/** One name for all: only who holds the lock writes it, and what a killed process left there is overwritten. */
async function replace(target: string, text: string): Promise<void> {
	const next = `${target}.next`;
	try {
		const file = await open(next, 'w', 0o600);
		try {
			await file.writeFile(text);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(next, target);
	} catch (error) {
		await unlink(next).catch(() => {});
		throw failure(error, 'commit');
	}
	// The new name is on the disk only when the folder is. Some systems cannot flush a folder, and do not need to.
	const folder = await open(dirname(target), 'r').catch(() => undefined);
	try {
		await folder?.sync().catch(() => {});
	} finally {
		await folder?.close();
	}
}

async function runWrite(
	tables: Map<string, Map<string, unknown>>,
	write: (transaction: FileTransaction) => unknown,
): Promise<void> {
	const transaction = new FileTransaction(tables);
	try {
		await write(transaction);
	} finally {
		transaction.end();
	}
}

function tablesOf(content: FileContent, scope: string): Map<string, Map<string, unknown>> {
	let tables = content.tables.get(scope);
	if (tables === undefined) {
		tables = new Map();
		content.tables.set(scope, tables);
	}
	return tables;
}

function failure(cause: unknown, operation: string): unknown {
	const code = codeOf(cause);
	if (cause instanceof StorageError || code === undefined) return cause;
	const because = (reason: StorageError['reason'], text: string): StorageError =>
		new StorageError(`${operation}: ${text} (${code})`, { reason }, { cause });
	switch (code) {
		case 'ENOSPC':
		case 'EDQUOT':
		case 'EFBIG':
			return because('quota', 'no room is left');
		case 'ENOENT':
		case 'ENOTDIR':
		case 'EISDIR':
		case 'ELOOP':
			return because('unavailable', 'there is no such place for a file');
		case 'EACCES':
		case 'EPERM':
		case 'EROFS':
			return because('unavailable', 'the file may not be read or written');
		default:
			return because('aborted', 'the file could not be read or written');
	}
}
