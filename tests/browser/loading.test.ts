import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {} from './page/globals.js';
import type { Outcome } from './page/loading.js';
import { launchers, type TestBrowser, type TestPage } from './support/browsers.js';
import { type DevServer, testServer } from './support/servers.js';
import { type Answer, type Site, serveSite } from './support/site.js';

const SOCKETS = 'connect-src * data: blob:';
const STRICT = `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; ${SOCKETS}`;
const NO_WASM = `default-src 'self'; script-src 'self'; ${SOCKETS}`;
const CONNECTED: Outcome = { name: 'connected', kind: undefined, message: '' };

let server: DevServer & { ws: string; http: string };
let site: Site;
let noWasm: Site;

beforeAll(async () => {
	server = await testServer({ origins: ['http://127.0.0.1:*'] });
	site = await serveSite(STRICT);
	noWasm = await serveSite(NO_WASM);
});
afterAll(async () => {
	await site?.close();
	await noWasm?.close();
	await server?.close();
});

describe.each(['chromium', 'firefox'] as const)('loading in %s', (name) => {
	let browser: TestBrowser;
	beforeAll(async () => {
		browser = await launchers[name]();
	});
	afterAll(() => browser?.close());

	async function open(address: string): Promise<TestPage> {
		const page = await browser.page();
		await page.open(address);
		return page;
	}

	/** Connects on a page whose wasm is answered like this. */
	async function connectWith(answer: (file: Uint8Array) => Answer): Promise<Outcome & { url: string }> {
		let url = '';
		site.answers = (path, file) => {
			if (!path.endsWith('.wasm')) return undefined;
			url = `${site.address}${path}`;
			return answer(file);
		};
		const page = await open(site.address);
		try {
			return { ...(await page.run((ws) => loading.connect(ws), server.ws)), url };
		} finally {
			site.answers = undefined;
			await page.close();
		}
	}

	it('both entries connect under the strict policy, eval is refused, and nothing else is', async () => {
		const page = await open(server.http);
		expect(await page.run((ws) => loading.connect(ws), server.ws)).toEqual(CONNECTED);
		expect(await page.run((ws) => loading.connect(ws, undefined, 'watch'), server.ws)).toEqual(CONNECTED);
		expect(await page.run(() => violations)).toEqual([]);
		expect(await page.run(() => loading.evalIsRefused())).toBe(true);
		// The listener does see what is refused.
		expect(await page.run(() => violations)).toEqual(['script-src: eval']);
		await page.close();
	});

	it('connects in a module worker', async () => {
		const page = await open(server.http);
		expect(await page.run((ws) => loading.connectInWorker(ws), server.ws)).toEqual(CONNECTED);
		expect(await page.run(() => violations)).toEqual([]);
		await page.close();
	});

	it('takes the wasm from a URL, bytes, a response or a compiled module', async () => {
		const page = await open(server.http);
		const ends = await page.run(async (ws) => {
			const name = performance
				.getEntriesByType('resource')
				.map((entry) => entry.name)
				.find((entry) => /full-.*\.wasm$/.test(entry));
			if (name === undefined) await loading.connect(ws);
			const url = performance
				.getEntriesByType('resource')
				.map((entry) => entry.name)
				.find((entry) => /full-.*\.wasm$/.test(entry)) as string;
			const bytes = await (await fetch(url)).arrayBuffer();
			const sources = [
				url,
				new URL(url),
				bytes,
				new Uint8Array(bytes),
				await fetch(url),
				fetch(url),
				await WebAssembly.compile(bytes),
			];
			const all = [];
			for (const source of sources) all.push(await loading.connect(ws, source));
			return all;
		}, server.ws);
		expect(ends).toEqual(Array.from({ length: 7 }, () => CONNECTED));
		await page.close();
	});

	it('wasm that is not there is a WasmLoadError with its address', async () => {
		const end = await connectWith(() => ({ status: 404, body: 'not found', type: 'text/plain' }));
		expect(end).toMatchObject({ name: 'WasmLoadError', kind: 'wasm-load' });
		expect(end.message).toContain(end.url);
		expect(end.message).toContain('404');
	});

	it.each(['text/html', 'application/wasm'])(
		'a page in its place, as %s, is named with its first bytes',
		async (type) => {
			const end = await connectWith(() => ({ body: '<!doctype html><title>app</title>', type }));
			expect(end).toMatchObject({ name: 'WasmLoadError', kind: 'wasm-load' });
			expect(end.message).toContain(end.url);
			expect(end.message).toContain('3c 21');
		},
	);

	it('a wrong MIME type is no obstacle', async () => {
		expect(await connectWith((file) => ({ body: file, type: 'application/octet-stream' }))).toMatchObject(
			CONNECTED,
		);
	});

	it('half a file is a WasmLoadError', async () => {
		const end = await connectWith((file) => ({
			body: file.subarray(0, file.length / 2),
			type: 'application/wasm',
		}));
		expect(end).toMatchObject({ name: 'WasmLoadError', kind: 'wasm-load' });
		expect(end.message).toContain(end.url);
	});

	it("a policy without 'wasm-unsafe-eval' is a CspBlockedError that says what to add", async () => {
		const page = await open(noWasm.address);
		for (const entry of ['full', 'watch'] as const) {
			const end = await page.run(({ ws, which }) => loading.connect(ws, undefined, which), {
				ws: server.ws,
				which: entry,
			});
			expect(end).toMatchObject({ name: 'CspBlockedError', kind: 'csp-blocked' });
			expect(end.message).toContain("'wasm-unsafe-eval'");
		}
		await page.close();
	});
});

describe('importing the package in Node', () => {
	it.each(['tidemark', 'tidemark/watch'])('%s touches no global', (entry) => {
		const program = `
			// Some are made when first looked at.
			for (const key of Reflect.ownKeys(globalThis)) void globalThis[key];
			const before = new Map(Reflect.ownKeys(globalThis).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)]));
			const touched = [];
			const watched = ['indexedDB', 'navigator', 'document', 'window', 'WebSocket', 'localStorage', 'caches', 'fetch'];
			for (const name of watched) {
				const { value } = before.get(name) ?? {};
				Object.defineProperty(globalThis, name, { configurable: true, get: () => { touched.push(name); return value; } });
			}
			const compile = WebAssembly.compile;
			WebAssembly.compile = (...args) => { touched.push('compile'); return compile(...args); };
			const timer = globalThis.setTimeout;
			globalThis.setTimeout = (...args) => { touched.push('setTimeout'); return timer(...args); };
			await import('${entry}');
			globalThis.setTimeout = timer;
			for (const name of watched) {
				if (before.has(name)) Object.defineProperty(globalThis, name, before.get(name));
				else delete globalThis[name];
			}
			for (const key of Reflect.ownKeys(globalThis)) {
				const was = before.get(key);
				const is = Object.getOwnPropertyDescriptor(globalThis, key);
				if (was === undefined) touched.push('new ' + String(key));
				else if (was.get !== is.get || !Object.is(was.value, is.value)) touched.push('changed ' + String(key));
			}
			console.log(JSON.stringify(touched));
		`;
		const ended = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
			encoding: 'utf8',
		});
		expect(ended.stderr).toBe('');
		expect(JSON.parse(ended.stdout)).toEqual([]);
	});
});
