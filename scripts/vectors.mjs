// Decodes golden files and compares them with their sidecars:
//   npm run -s vectors -- DIR [--only GLOB]... [--native]
// In wasm under Node by default; --native runs the same checks natively, under sanitizers. Prints each failure and last
// `N passed, N failed`; status 1 when one fails.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildWasm } from './build-wasm.mjs';
import { root, setup } from './setup.mjs';
import { filesOf, runVectors } from './vectors-wasm.mjs';

/** Runs the native binary: the build that the C++ tests use, so that one build serves both. */
async function native(folder) {
	const env = setup('build', 'test');
	const jobs = String(cpus().length);
	for (const args of [
		['--preset', 'sanitize'],
		['--build', 'build/sanitize', '-j', jobs, '--target', 'tidemark_vectors'],
	]) {
		const made = spawnSync('cmake', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 });
		if (made.status !== 0)
			throw new Error(`cmake ${args.join(' ')}\n${made.stdout ?? ''}${made.stderr ?? ''}`);
	}
	const runner = join(root, 'build/sanitize/tools/tidemark_vectors');
	return async (only) => {
		const { stdout, stderr } = spawnSync(runner, [folder, only], { encoding: 'utf8', maxBuffer: 1 << 28 });
		return `${stdout}${stderr}`.split('\n');
	};
}

async function wasm(folder) {
	// The build's own lines are no part of the report.
	await buildWasm(['vectors']);
	const { default: create } = await import(join(root, 'build/wasm/wasm/vectors.mjs'));
	const { readFile } = await import('node:fs/promises');
	const module = await WebAssembly.compile(await readFile(join(root, 'build/wasm/wasm/vectors.wasm')));
	const files = await filesOf(folder);
	return async (only) => {
		const lines = [];
		await runVectors({ create, module, files, only, print: (line) => lines.push(line) });
		return lines;
	};
}

try {
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: {
			only: { type: 'string', multiple: true, default: ['*'] },
			native: { type: 'boolean', default: false },
		},
	});
	const folder = positionals[0];
	if (folder === undefined || positionals.length > 1)
		throw new Error('usage: vectors DIR [--only GLOB]... [--native]');
	if (!existsSync(resolve(folder))) throw new Error(`${folder}: no such folder`);
	const run = await (values.native ? native : wasm)(resolve(folder));
	let passed = 0;
	let failed = 0;
	for (const only of values.only) {
		const lines = (await run(only)).filter((line) => line !== '');
		const total = /^(\d+) passed, (\d+) failed$/.exec(lines.at(-1) ?? '');
		for (const line of total === null ? lines : lines.slice(0, -1)) console.log(line);
		// A runner that did not reach its last line broke off, and a pattern without a file checks nothing.
		passed += Number(total?.[1] ?? 0);
		failed += Number(total?.[2] ?? 1);
		if (total?.[1] === '0' && total[2] === '0') {
			console.log(`${only}: no vector matches`);
			failed += 1;
		}
	}
	console.log(`${passed} passed, ${failed} failed`);
	process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
	console.error(error.message);
	console.log('0 passed, 1 failed');
	process.exitCode = 1;
}
