// Decodes golden files and compares them with their sidecars:
//   npm run -s vectors -- DIR [--only GLOB] [--native]
// In wasm under Node by default. Prints each failure and last `N passed, N failed`; status 1 when one fails.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildWasm } from './build-wasm.mjs';
import { root, setup } from './setup.mjs';
import { filesOf, runVectors } from './vectors-wasm.mjs';

function native(folder, only) {
	const env = setup('build');
	const jobs = String(cpus().length);
	for (const args of [
		['--preset', 'native'],
		['--build', 'build/native', '-j', jobs, '--target', 'tidemark_vectors'],
	]) {
		const made = spawnSync('cmake', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 });
		if (made.status !== 0)
			throw new Error(`cmake ${args.join(' ')}\n${made.stdout ?? ''}${made.stderr ?? ''}`);
	}
	const runner = join(root, 'build/native/tools/tidemark_vectors');
	return spawnSync(runner, [folder, only], { stdio: 'inherit' }).status ?? 1;
}

async function wasm(folder, only) {
	// The build's own lines are no part of the report.
	await buildWasm(['vectors']);
	const { default: create } = await import(join(root, 'build/wasm/wasm/vectors.mjs'));
	const { readFile } = await import('node:fs/promises');
	const module = await WebAssembly.compile(await readFile(join(root, 'build/wasm/wasm/vectors.wasm')));
	return runVectors({
		create,
		module,
		files: await filesOf(folder),
		only,
		print: (line) => console.log(line),
	});
}

try {
	const { values, positionals } = parseArgs({
		allowPositionals: true,
		options: { only: { type: 'string', default: '*' }, native: { type: 'boolean', default: false } },
	});
	const folder = positionals[0];
	if (folder === undefined || positionals.length > 1)
		throw new Error('usage: vectors DIR [--only GLOB] [--native]');
	if (!existsSync(resolve(folder))) throw new Error(`${folder}: no such folder`);
	const run = values.native ? native : wasm;
	process.exitCode = await run(resolve(folder), values.only);
} catch (error) {
	console.error(error.message);
	console.log('0 passed, 1 failed');
	process.exitCode = 1;
}
