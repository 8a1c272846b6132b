import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { launchers, type TestBrowser } from '../browser/support/browsers.js';
import { type Server, TEN, tenServer } from './support/server.js';
import { type Site, serve } from './support/site.js';

interface Outcome {
	numbers?: number[];
	error?: string;
	message?: string;
	ms: number;
}
declare const read: (ws: string, entry: string) => Promise<Outcome>;

const project = inject('project');
const ENTRIES = ['tidemark', 'tidemark/watch'];
let server: Server;
let site: Site;
let withoutWasm: Site;

beforeAll(async () => {
	server = await tenServer();
	await build({
		root: join(project, 'page'),
		configFile: false,
		logLevel: 'warn',
		base: './',
		build: { outDir: join(project, 'built'), emptyOutDir: true },
	});
	site = await serve(project);
	withoutWasm = await serve(project, "'self'");
});
afterAll(async () => {
	await site?.close();
	await withoutWasm?.close();
	await server?.close();
});

describe.each(['chromium', 'firefox'] as const)('%s', (name) => {
	let browser: TestBrowser;
	beforeAll(async () => {
		browser = await launchers[name]();
	});
	afterAll(() => browser?.close());

	async function readOn(address: string, entry: string): Promise<Outcome> {
		const page = await browser.page();
		try {
			await page.open(address);
			// Out of the driver's own evaluation, which policies do not bind.
			return await page.run(
				async ([ws, which]) => {
					await new Promise((resolve) => setTimeout(resolve));
					return read(ws, which);
				},
				[server.ws, entry] as const,
			);
		} finally {
			await page.close();
		}
	}

	it.each(ENTRIES)('a page that a bundler built reads ten records by %s', async (entry) => {
		expect(await readOn(`${site.address}/built/index.html`, entry)).toMatchObject({ numbers: TEN });
	});

	it.each(ENTRIES)('a page without a bundler, with an import map, reads ten records by %s', async (entry) => {
		expect(await readOn(`${site.address}/page/unbundled.html`, entry)).toMatchObject({ numbers: TEN });
	});

	it('where the policy forbids wasm the error says so, within a second', async () => {
		for (const path of ['/built/index.html', '/page/unbundled.html']) {
			const outcome = await readOn(`${withoutWasm.address}${path}`, 'tidemark');
			expect(outcome).toMatchObject({
				error: 'csp-blocked',
				message: expect.stringMatching(/wasm-unsafe-eval|policy/),
			});
			expect(outcome.ms).toBeLessThan(1_000);
		}
	});
});
