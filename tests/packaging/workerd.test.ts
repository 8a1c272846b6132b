import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Server, TEN, tenServer } from './support/server.js';
import { startWorkers, type Workers } from './support/workers.js';

const project = inject('project');
let folder: string;

/** Bundles as the platform's own tool does: its conditions, and wasm as a module beside the script. */
async function bundle(entry: string, name: string): Promise<string> {
	const outdir = join(folder, name);
	await build({
		entryPoints: { worker: entry },
		bundle: true,
		format: 'esm',
		target: 'es2022',
		conditions: ['workerd', 'worker', 'browser'],
		external: ['cloudflare:*'],
		loader: { '.wasm': 'copy' },
		nodePaths: [join(project, 'node_modules')],
		outdir,
		outExtension: { '.js': '.mjs' },
	});
	return join(outdir, 'worker.mjs');
}

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'tidemark-workerd-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('an edge worker', () => {
	let server: Server;
	let script: string;
	let workers: Workers;

	const start = (): void => {
		workers = startWorkers({
			scriptPath: script,
			durableObjects: { WATCHER: { className: 'Watcher', useSQLite: true } },
			durableObjectsPersist: join(folder, 'objects'),
			bindings: { WS: server.ws },
		});
	};
	const ask = async (path: string): Promise<unknown> => {
		const answer = await workers.dispatchFetch(`http://worker${path}`);
		const text = await answer.text();
		if (!answer.ok) throw new Error(text);
		return JSON.parse(text);
	};
	const once = (numbers: readonly number[]) => numbers.map((n) => ({ n, times: 1 }));

	beforeAll(async () => {
		server = await tenServer();
		script = await bundle(join(project, 'worker/worker.mjs'), 'programs');
		start();
	});
	afterAll(async () => {
		await workers?.dispose();
		await server?.close();
	});

	it('reads ten records', async () => {
		expect(await ask('/read')).toEqual(TEN);
	});

	it('a Durable Object goes on where it stopped, also after a restart and by its alarm, each record once', async () => {
		expect(await ask('/drain?batches=4')).toEqual(once(TEN.slice(0, 4)));
		await workers.dispose();
		start();
		expect(await ask('/rows')).toEqual(once(TEN.slice(0, 4)));
		expect(await ask('/drain')).toEqual(once(TEN));
		await server.append(10, 5);
		await workers.dispose();
		start();
		await ask('/wake');
		await expect.poll(() => ask('/rows'), { timeout: 10_000 }).toEqual(once([...TEN, 10, 11, 12, 13, 14]));
	});

	it('writes that fail in the application leave neither rows nor position', async () => {
		expect(await ask('/forget')).toEqual([]);
		expect(await ask('/drain?batches=3&fail=1')).toEqual(once([0, 1]));
		expect(await ask('/drain?batches=1')).toEqual(once([0, 1, 2]));
	});
});

describe('the storage of a Durable Object keeps the promises of every store', () => {
	it.each([true, false])('backed by SQLite: %s', async (useSQLite) => {
		const script = await bundle(fileURLToPath(new URL('worker-conformance.ts', import.meta.url)), 'suite');
		const workers = startWorkers({
			scriptPath: script,
			durableObjects: { OBJECT: { className: 'Conformance', useSQLite } },
		});
		try {
			const answer = await workers.dispatchFetch('http://worker/');
			const ends = (await answer.json()) as [string, string][];
			expect(ends.length).toBeGreaterThanOrEqual(12);
			expect(ends.filter(([, end]) => end !== 'passed')).toEqual([]);
		} finally {
			await workers.dispose();
		}
	});
});
