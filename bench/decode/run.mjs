// Decoding side by side: node bench/decode/run.mjs [--json] [--chromium] [--only NAME]. In a browser the same bundle runs: bundle()
// gives its text, an ES module with run({ wasm }): results.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { CHROMIUM, CHROMIUM_FLAGS } from '../../scripts/chromium.mjs';
import { startNative } from './native.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const platform = (name) => join(root, 'js/platform', name);

/** Decoders are called by themselves in the whole core only. */
const WASM = join(root, 'js/wasm/full.wasm');

/** The benchmark as one ES module for Node or a browser. Peers are bundled as browsers get them, without native addons. */
export async function bundle(name, target = 'node') {
	const result = await build({
		entryPoints: [join(root, 'bench/decode', `${name}.ts`)],
		bundle: true,
		format: 'esm',
		target: 'es2022',
		platform: target === 'node' ? 'node' : 'browser',
		alias: {
			'#platform/file': platform(target === 'node' ? 'file.node.ts' : 'file.web.ts'),
			'#platform/socket': platform(target === 'node' ? 'socket.node.ts' : 'socket.web.ts'),
			'#platform/wasm-feed': platform('wasm-feed.ts'),
			'#platform/wasm-full': platform('wasm-full.ts'),
		},
		write: false,
	});
	return result.outputFiles[0].text;
}

/** The benchmark's module, in this process. */
async function load(name) {
	const folder = join(root, 'build/bench');
	mkdirSync(folder, { recursive: true });
	const file = join(folder, `${name}.mjs`);
	writeFileSync(file, await bundle(name));
	return import(pathToFileURL(file).href);
}

/** One benchmark's result lines, in Node. */
export async function decodeInNode(name) {
	v8.setFlagsFromString('--expose-gc');
	globalThis.gc = runInNewContext('gc');
	const { run, queryPages } = await load(name);
	const native = queryPages && startNative(queryPages());
	try {
		return await run({ wasm: readFileSync(WASM), native: native?.turn });
	} finally {
		native?.close();
	}
}

const PAGE = `<!doctype html><meta charset="utf-8"><title>decode</title><script type="module" src="/page.js"></script>`;
const SCRIPT = `import { run } from '/bench.js';
globalThis.run = async () =>
	run({ wasm: await (await fetch('/core.wasm')).arrayBuffer(), native: globalThis.nativeTurn });
document.title = 'ready';`;

/** The same in a page of its own, under the content-security policy that the package asks for. */
export async function decodeInChromium(name) {
	const files = {
		'/': ['text/html', PAGE],
		'/page.js': ['text/javascript', SCRIPT],
		'/bench.js': ['text/javascript', await bundle(name, 'browser')],
		'/core.wasm': ['application/wasm', readFileSync(WASM)],
	};
	const server = createServer(({ url }, response) => {
		const [type, body] = files[url] ?? [];
		response.writeHead(body === undefined ? 404 : 200, {
			'content-type': type ?? 'text/plain',
			'content-security-policy':
				"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'",
			// Clocks of isolated pages are fine enough for rounds below a millisecond.
			'cross-origin-opener-policy': 'same-origin',
			'cross-origin-embedder-policy': 'require-corp',
		});
		response.end(body);
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { chromium } = await import('playwright-core');
	let native;
	const browser = await chromium.launch({
		executablePath: CHROMIUM,
		headless: true,
		args: [...CHROMIUM_FLAGS, '--js-flags=--expose-gc'],
	});
	try {
		const page = await browser.newPage();
		page.on('console', (message) => console.error(message.text()));
		const { queryPages } = await load(name);
		if (queryPages !== undefined) {
			native = startNative(queryPages());
			await page.exposeFunction('nativeTurn', native.turn);
		}
		await page.goto(`http://127.0.0.1:${server.address().port}/`);
		await page.waitForFunction(() => document.title === 'ready');
		return await page.evaluate(() => globalThis.run());
	} finally {
		await browser.close();
		server.close();
		native?.close();
	}
}

/** A readable table: how many times tidemark's time each one takes. */
export function table(results) {
	const own = new Map(
		results.filter(({ subject }) => subject === 'tidemark').map(({ metric, value }) => [metric, value]),
	);
	return results
		.map(({ runtime, subject, metric, value, unit }) =>
			[
				runtime.padEnd(9),
				subject.padEnd(10),
				metric.padEnd(12),
				`${value.toFixed(3)} ${unit}`.padStart(12),
				`${(value / (own.get(metric) ?? Number.NaN)).toFixed(2)}x`.padStart(9),
			].join(' '),
		)
		.join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
	for (const name of ['change-record', 'query-reply']) {
		if (only !== undefined && only !== name) continue;
		const run = process.argv.includes('--chromium') ? decodeInChromium : decodeInNode;
		const results = await run(name);
		if (process.argv.includes('--json')) for (const result of results) console.log(JSON.stringify(result));
		else console.log(`${name}\n${table(results)}`);
	}
}
