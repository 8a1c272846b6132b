import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { run } from './support/run.js';
import { type Server, TEN, tenServer } from './support/server.js';

const bin = (name: string): string =>
	fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));
const folder = join(inject('project'), 'runtimes');

const ENTRIES = ['tidemark', 'tidemark/slim', 'tidemark/inline'];
const SMALL = ['tidemark/watch', 'tidemark/watch/slim', 'tidemark/watch/inline'];

/** Arguments that come before the program. */
const runtimes: Record<string, [string, ...string[]]> = {
	Node: [process.execPath],
	Deno: [bin('deno'), 'run', '-A', '--no-config', '--node-modules-dir=manual'],
	Bun: [bin('bun')],
};

let server: Server;
let temporary: string;

beforeAll(async () => {
	server = await tenServer();
	temporary = await mkdtemp(join(tmpdir(), 'tidemark-runtimes-'));
});
afterAll(async () => {
	await server?.close();
	await rm(temporary, { recursive: true, force: true });
});

describe.each(Object.entries(runtimes))('%s', (name, command) => {
	const program = async (file: string, ...args: string[]): Promise<string> => {
		const [first, ...rest] = [...command, file, ...args] as [string, ...string[]];
		return (await run(folder, first, ...rest)).trim();
	};

	it.each([...ENTRIES, ...SMALL])('reads ten records by %s', async (entry) => {
		const wasm = entry.endsWith('slim') ? [SMALL.includes(entry) ? 'feed.wasm' : 'full.wasm'] : [];
		expect(JSON.parse(await program('read.mjs', server.ws, entry, ...wasm))).toEqual(TEN);
	});

	it('a watcher on a file goes on where the process before it stopped, each record once', async () => {
		const file = join(temporary, `${name}.positions`);
		const rows = async (batches: number): Promise<[number, number][]> =>
			JSON.parse(await program('resume.mjs', server.ws, file, String(batches))) as [number, number][];
		expect(await rows(4)).toEqual(TEN.slice(0, 4).map((n) => [n, 1]));
		expect(await rows(0)).toEqual(TEN.slice(0, 4).map((n) => [n, 1]));
		expect(await rows(99)).toEqual(TEN.map((n) => [n, 1]));
	});

	it('FileStore keeps the promises of every store', async () => {
		expect(await program('conformance.mjs')).toMatch(/^1[2-9] passed$/);
	});
});

it('Node: require() works as import does', async () => {
	expect(JSON.parse(await run(folder, process.execPath, '--no-warnings', 'required.cjs', server.ws))).toEqual(
		[TEN, TEN],
	);
});

describe('importing is harmless', () => {
	it('on a server: no global of a page or of the network is looked at', async () => {
		const entries = [
			...ENTRIES,
			...SMALL,
			'tidemark/file-store',
			'tidemark/durable-object',
			'tidemark/opentelemetry',
		];
		expect(await run(folder, process.execPath, '--no-warnings', 'traps.mjs', ...entries)).toBe('[]\n');
	});

	it('where there is nothing but the language', async () => {
		const outputs: string[] = [];
		for (const [index, entry] of [...ENTRIES, ...SMALL].entries()) {
			const outfile = join(temporary, `bare-${index}.mjs`);
			await build({
				stdin: { contents: `export * from '${entry}'`, resolveDir: folder },
				bundle: true,
				format: 'esm',
				target: 'es2022',
				conditions: ['browser'],
				outfile,
			});
			outputs.push(outfile);
		}
		const flags = ['--experimental-vm-modules', '--no-warnings'];
		expect(await run(folder, process.execPath, ...flags, 'bare.mjs', ...outputs)).toBe('harmless\n');
	});
});
