// Decoding side by side: node bench/decode/run.mjs [--json] [--only NAME]. In a browser the same bundle runs: bundle()
// gives its text, an ES module with run({ wasm }): results.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const platform = (name) => join(root, 'js/platform', name);

export const benches = {
	'change-record': { entry: 'change-record.ts', wasm: 'js/wasm/feed.wasm' },
	'query-reply': { entry: 'query-reply.ts', wasm: 'js/wasm/full.wasm' },
};

/** The benchmark as one ES module for Node or a browser. Peers are bundled as browsers get them, without native addons. */
export async function bundle(name, target = 'node') {
	const result = await build({
		entryPoints: [join(root, 'bench/decode', benches[name].entry)],
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

export async function runInNode(name) {
	const folder = join(root, 'build/bench');
	mkdirSync(folder, { recursive: true });
	const file = join(folder, `${name}.mjs`);
	writeFileSync(file, await bundle(name));
	const { run } = await import(pathToFileURL(file).href);
	return run({ wasm: readFileSync(join(root, benches[name].wasm)) });
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
	for (const name of Object.keys(benches)) {
		if (only !== undefined && only !== name) continue;
		const results = await runInNode(name);
		if (process.argv.includes('--json')) for (const result of results) console.log(JSON.stringify(result));
		else console.log(`${name}\n${table(results)}`);
	}
}
