import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { hash64 } from './hash.js';

/** Where changes of the catalog are kept: one line each, replayed at the next start. */
export interface Journal<T> {
	load(apply: (entry: T) => void): void;
	/** The entry is on disk when this returns. */
	append(entry: T): void;
	close(): void;
}

export class MemoryJournal<T> implements Journal<T> {
	load(): void {}
	append(): void {}
	close(): void {}
}

const COMPACT_BYTES = 4 << 20;

/** A file of lines `checksum json`. It is written anew from a snapshot when it has grown well beyond one. */
export class FileJournal<T> implements Journal<T> {
	readonly #path: string;
	readonly #snapshot: () => Iterable<T>;
	readonly #fsync: boolean;
	#file: number | undefined;
	#bytes = 0;
	#compactAt = COMPACT_BYTES;

	constructor(folder: string, snapshot: () => Iterable<T>, fsync: boolean) {
		fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
		this.#path = join(folder, 'catalog.journal');
		this.#snapshot = snapshot;
		this.#fsync = fsync;
	}

	load(apply: (entry: T) => void): void {
		if (fs.existsSync(this.#path)) {
			const lines = fs.readFileSync(this.#path, 'utf8').split('\n');
			for (const [at, line] of lines.entries()) {
				if (line === '') continue;
				const entry = decode<T>(line);
				if (entry !== undefined) {
					apply(entry);
					continue;
				}
				// Only the last line can be half written by a process that was killed.
				if (lines.slice(at + 1).some((next) => next !== '')) {
					throw new Error(`${this.#path} is damaged in line ${at + 1}`);
				}
			}
		}
		this.#compact();
	}

	append(entry: T): void {
		const line = Buffer.from(encode(entry));
		try {
			fs.writeFileSync(this.#file!, line);
		} catch (error) {
			// Half a line (the disk is full) must not stand in front of the next one.
			fs.ftruncateSync(this.#file!, this.#bytes);
			throw error;
		}
		if (this.#fsync) fs.fdatasyncSync(this.#file!);
		this.#bytes += line.length;
		if (this.#bytes > this.#compactAt) this.#compact();
	}

	close(): void {
		if (this.#file !== undefined) fs.closeSync(this.#file);
		this.#file = undefined;
	}

	#compact(): void {
		const text = Buffer.from([...this.#snapshot()].map(encode).join(''));
		const draft = `${this.#path}.new`;
		const file = fs.openSync(draft, 'w', 0o600);
		fs.writeFileSync(file, text);
		fs.fdatasyncSync(file);
		fs.closeSync(file);
		fs.renameSync(draft, this.#path);
		const folder = fs.openSync(dirname(this.#path), 'r');
		fs.fsyncSync(folder);
		fs.closeSync(folder);
		this.close();
		this.#file = fs.openSync(this.#path, 'a', 0o600);
		this.#bytes = text.length;
		this.#compactAt = Math.max(COMPACT_BYTES, 4 * text.length);
	}
}

function encode(entry: unknown): string {
	const json = JSON.stringify(entry);
	return `${hash64(Buffer.from(json)).toString(16).padStart(16, '0')} ${json}\n`;
}

function decode<T>(line: string): T | undefined {
	const json = line.slice(17);
	if (hash64(Buffer.from(json)).toString(16).padStart(16, '0') !== line.slice(0, 16)) return undefined;
	return JSON.parse(json) as T;
}
