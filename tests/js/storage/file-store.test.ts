import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InvalidError, StorageError } from '../../../js/errors/index.js';
import { FileStore, type FileTransaction } from '../../../js/storage/file-store.js';
import type { StoredPosition } from '../../../js/storage/store.js';
import { SeededRandom } from '../../support/random.js';
import { storeConformance } from './conformance.js';

const key = { scope: 'default', name: 'orders' };

function position(next: bigint): StoredPosition {
	return {
		positions: new Map([[0, next]]),
		identity: undefined,
		epoch: 1,
		updatedAt: 1,
		source: { content: 'changes', stream: '_agdx', topic: 'changes' },
	};
}

const next = async (path: string): Promise<bigint | undefined> =>
	(await new FileStore(path).read(key))?.positions.get(0);

let folder: string;
let writer: string;
let places = 0;
const place = (): string => join(folder, `p${places++}`);

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'tidemark-files-'));
	writer = join(folder, 'writer.mjs');
	await build({
		entryPoints: [fileURLToPath(new URL('./file-writer.ts', import.meta.url))],
		bundle: true,
		platform: 'node',
		format: 'esm',
		outfile: writer,
	});
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function leftovers(path: string): Promise<string[]> {
	const name = path.slice(folder.length + 1);
	return (await readdir(folder)).filter((one) => one.startsWith(`${name}.`));
}

interface Writer {
	process: ChildProcess;
	/** The last commit that it was told about. */
	said(): bigint;
	end: Promise<unknown>;
}

function write(path: string, rounds: number): Writer {
	const child = spawn(process.execPath, [writer, path, String(rounds)], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let text = '';
	child.stdout.on('data', (chunk: Buffer) => {
		text += String(chunk);
	});
	const complete = () => text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
	return {
		process: child,
		said: () => BigInt(complete().at(-2) ?? 0),
		end: new Promise((resolve) => child.once('close', resolve)),
	};
}

describe('FileStore', () => {
	storeConformance<FileTransaction>(
		{
			test: (name, body) => it(name, body),
			equal: (actual, expected) => expect(actual).toEqual(expected),
		},
		{
			open: async (name) => new FileStore(join(folder, `conformance-${name}`)),
			putRow: (transaction, name, value) => transaction.put('rows', name, value),
			getRow: async (store, { scope }, name) => (await (store as FileStore).rows('rows', scope)).get(name),
		},
	);

	it('rows come back as they were put: big integers, bytes, dates, maps, -0, names of prototypes', async () => {
		const path = place();
		const value = {
			big: 2n ** 64n - 1n,
			bytes: Uint8Array.of(0, 255),
			date: new Date(5),
			map: new Map<unknown, unknown>([[1, [null, undefined]]]),
			numbers: [-0, Number.NaN, Number.POSITIVE_INFINITY, 0.1],
			list: ['bigint', '7'],
			['__proto__']: 1,
		};
		await new FileStore(path).update(
			key,
			() => 'keep',
			(transaction) => transaction.put('rows', 'a', value),
		);
		const back = (await new FileStore(path).rows('rows')).get('a') as typeof value;
		expect(back).toEqual(value);
		expect(Object.keys(back)).toContain('__proto__');
		expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
	});

	it('refuses what is no plain data, and a transaction that has ended', async () => {
		const store = new FileStore(place());
		const loop: unknown[] = [];
		loop.push(loop);
		for (const value of [() => 1, Symbol('x'), new (class Row {})(), loop]) {
			await expect(
				store.update(
					key,
					() => 'keep',
					(transaction) => transaction.put('rows', 'a', value),
				),
			).rejects.toBeInstanceOf(InvalidError);
		}
		let kept: FileTransaction | undefined;
		await store.update(
			key,
			() => 'keep',
			(transaction) => {
				kept = transaction;
			},
		);
		expect(() => kept?.put('rows', 'a', 1)).toThrow(/ended/);
	});

	it('leaves nothing beside the file, which only its owner may read', async () => {
		const path = place();
		await new FileStore(path).update(key, () => ({ put: position(1n) }));
		expect(await leftovers(path)).toEqual([]);
		const { stat } = await import('node:fs/promises');
		expect((await stat(path)).mode & 0o777).toBe(0o600);
	});

	it('a link to the file stays a link', async () => {
		const path = place();
		await new FileStore(path).update(key, () => ({ put: position(1n) }));
		const other = place();
		await symlink(path, other);
		await new FileStore(other).update(key, () => ({ put: position(2n) }));
		expect(await next(path)).toBe(2n);
	});
});

describe('a file that is not what was written', () => {
	const refused = { kind: 'storage', reason: 'corrupted', retryable: false };

	it('is refused at every cut and at every changed byte, and stays as it is', async () => {
		const path = place();
		await new FileStore(path).update(key, () => ({ put: position(7n) }));
		const good = await readFile(path);
		for (let at = 0; at < good.length; at++) {
			await writeFile(path, good.subarray(0, at));
			await expect(new FileStore(path).read(key)).rejects.toMatchObject(refused);
			const changed = Buffer.from(good);
			changed[at]! ^= 1;
			await writeFile(path, changed);
			// A changed version number may say "newer": that is refused as well.
			await expect(new FileStore(path).read(key)).rejects.toBeInstanceOf(StorageError);
		}
		await writeFile(path, good.subarray(0, -3));
		await expect(new FileStore(path).update(key, () => ({ put: position(1n) }))).rejects.toMatchObject(
			refused,
		);
		expect(await readFile(path)).toEqual(good.subarray(0, -3));
	});

	it('written by a newer version, is refused as that', async () => {
		const path = place();
		await writeFile(path, '{"format":"tidemark positions","version":2}\nwhatever');
		await expect(new FileStore(path).read(key)).rejects.toMatchObject({
			reason: 'version',
			retryable: false,
		});
	});

	it('a folder, or a place in a folder that is not there, is an error and no fresh start', async () => {
		await expect(new FileStore(folder).read(key)).rejects.toMatchObject({ reason: 'unavailable' });
		const nowhere = new FileStore(join(folder, 'none', 'p'));
		await expect(nowhere.update(key, () => ({ put: position(1n) }))).rejects.toMatchObject({
			reason: 'unavailable',
		});
	});
});

describe('processes', () => {
	it('two at once lose no update', async () => {
		const path = place();
		const writers = [write(path, 60), write(path, 60)];
		await Promise.all(writers.map((one) => one.end));
		expect(await next(path)).toBe(120n);
		expect((await new FileStore(path).rows('rows')).size).toBe(120);
		expect(await leftovers(path)).toEqual([]);
	});

	it('killed at any moment, they leave rows and position of one commit, and the next goes on at once', async () => {
		const path = place();
		const random = new SeededRandom(20261201);
		let last = 0n;
		for (let kill = 0; kill < 25; kill++) {
			const one = write(path, 1_000_000);
			while (one.said() <= last) await new Promise((resolve) => setTimeout(resolve, 2));
			await new Promise((resolve) => setTimeout(resolve, random.next() * 10));
			one.process.kill('SIGKILL');
			await one.end;
			const stored = (await next(path)) ?? 0n;
			// What was reported is there; one more may have been committed and not reported.
			expect(stored - one.said() === 0n || stored - one.said() === 1n).toBe(true);
			const rows = await new FileStore(path).rows('rows');
			expect(rows.size).toBe(Number(stored));
			last = stored;
		}
		await new FileStore(path, { blockedTimeoutMs: 500 }).update(key, () => ({ put: position(1n) }));
	});

	const lock = (holder: object): string =>
		JSON.stringify({ token: '00000000-0000-4000-8000-000000000000', ...holder });

	it('a lock of a dead process, or of an earlier one with our number, is cleared away by one of many', async () => {
		for (const holder of [
			{ host: hostname(), pid: 2 ** 22 + 5, started: '1' },
			{ host: hostname(), pid: process.pid, started: '1' },
		]) {
			const path = place();
			await writeFile(`${path}.lock`, lock(holder));
			const started = Date.now();
			await Promise.all([write(path, 5), write(path, 5), write(path, 5)].map((one) => one.end));
			expect(await next(path)).toBe(15n);
			expect(Date.now() - started).toBeLessThan(5_000);
			expect(await leftovers(path)).toEqual([]);
		}
	});

	it('a lock of another machine, or one that cannot be read, counts as left behind when it is old', async () => {
		for (const text of [lock({ host: 'elsewhere', pid: 1 }), '']) {
			const path = place();
			await writeFile(`${path}.lock`, text);
			const store = new FileStore(path, { blockedTimeoutMs: 100 });
			await expect(store.update(key, () => ({ put: position(1n) }))).rejects.toMatchObject({
				kind: 'storage',
				reason: 'blocked',
				retryable: true,
			});
			const old = new Date(Date.now() - 60_000);
			await utimes(`${path}.lock`, old, old);
			await store.update(key, () => ({ put: position(1n) }));
			expect(await next(path)).toBe(1n);
		}
	});
});
