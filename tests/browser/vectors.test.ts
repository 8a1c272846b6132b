import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildWasm } from '../../scripts/build-wasm.mjs';
import { filesOf } from '../../scripts/vectors-wasm.mjs';
import type {} from './page/globals.js';
import { launchChromium, type TestBrowser, type TestPage } from './support/browsers.js';
import { type Site, serveSite } from './support/site.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const STRICT = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
const VECTORS = join(root, 'tests/vectors');

/** What every release must decode, by the start of the names. */
const REQUIRED = {
	iggy: ['s11_', 'p11_', 'any_'],
	agdx: [
		'change_',
		'announce_',
		'hello_',
		'backend_',
		'managed_',
		'control_',
		'binding_',
		'projection_',
		'query_',
		'qr_',
		'schema_',
		'tv_',
	],
} as const;

let site: Site;
let browser: TestBrowser;
let page: TestPage;
const files: Record<string, [string, Buffer][]> = {};

beforeAll(async () => {
	await buildWasm(['vectors']);
	for (const kind of Object.keys(REQUIRED))
		files[kind] = (await filesOf(join(VECTORS, kind))) as [string, Buffer][];
	site = await serveSite(STRICT);
	site.answers = (path) => {
		const script = (name: string) => ({ body: readFileSync(join(root, name)), type: 'text/javascript' });
		if (path === '/vectors/runner.mjs') return script('scripts/vectors-wasm.mjs');
		if (path === '/vectors/glue.mjs') return script('build/wasm/wasm/vectors.mjs');
		if (path === '/vectors/core.wasm') {
			return { body: readFileSync(join(root, 'build/wasm/wasm/vectors.wasm')), type: 'application/wasm' };
		}
		const of = files[/^\/vectors\/(iggy|agdx)\.json$/.exec(path)?.[1] ?? ''];
		if (of === undefined) return undefined;
		const encoded = of.map(([name, content]) => [name, content.toString('base64')]);
		return { body: JSON.stringify(Object.fromEntries(encoded)), type: 'application/json' };
	};
	browser = await launchChromium();
	page = await browser.page();
	await page.open(site.address);
}, 600_000);

afterAll(async () => {
	await browser?.close();
	await site?.close();
});

async function expectAllPass(kind: string, only: string): Promise<void> {
	const { lines } = await page.run((given) => vectors.run(given.kind, given.only), { kind, only });
	const counts = /^(\d+) passed, (\d+) failed$/.exec(lines.at(-1) ?? '');
	expect(lines.slice(0, -1)).toEqual([]);
	expect(Number(counts?.[1])).toBeGreaterThan(0);
	expect(counts?.[2]).toBe('0');
}

describe('golden files in chromium', () => {
	for (const [kind, starts] of Object.entries(REQUIRED)) {
		it.each(starts.map((start) => [start]))(`${kind}/%s*`, (start) => expectAllPass(kind, `${start}*`));
	}

	it('iggy/p12_* whose protocol includes 0.11.0', async () => {
		const names = (files['iggy'] as [string, Buffer][])
			.filter(([name, content]) => {
				if (!/^p12_.*\.json$/.test(name)) return false;
				return String((JSON.parse(String(content)) as { protocol?: string }).protocol).includes('0.11.0');
			})
			.map(([name]) => name.replace(/\.json$/, ''));
		expect(names.length).toBeGreaterThan(10);
		for (const name of names) await expectAllPass('iggy', `${name}.*`);
	});
});
