// Compiles the core to wasm and puts glue and binary where the sources (js/wasm) and the package (dist/wasm) look.
//   npm run build:wasm [-- feed full vectors]     both products by default; `vectors` is the golden-file runner
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { root, setup } from './setup.mjs';

const targets = ['feed', 'full', 'vectors'];

function cmake(args, env) {
	const result = spawnSync('cmake', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 });
	if (result.status !== 0)
		throw new Error(
			`cmake ${args.join(' ')}\n${result.stdout ?? ''}${result.stderr ?? ''}${result.error ?? ''}`,
		);
}

/** The size that a server sends: everything an entry pulls in is held against the budgets in bench/. */
function brotli(path) {
	const options = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
	return brotliCompressSync(readFileSync(path), options).length;
}

export async function buildWasm(names = ['feed', 'full']) {
	const env = setup('build');
	const { transform } = await import('esbuild');
	const folder = join(root, 'build/wasm');
	cmake(['--preset', 'wasm'], env);
	cmake(
		[
			'--build',
			'build/wasm',
			'-j',
			String(cpus().length),
			'--target',
			...names.map((name) => `wasm_${name}`),
		],
		env,
	);
	for (const name of names) {
		const made = join(folder, 'wasm', name);
		if (!existsSync(`${made}.wasm`)) throw new Error(`${made}.wasm was not made`);
		if (name === 'vectors') continue;
		// Debian's Emscripten comes without the closure compiler; esbuild takes a quarter off the glue.
		const glue = await transform(readFileSync(`${made}.mjs`, 'utf8'), {
			minify: true,
			format: 'esm',
			target: 'es2022',
			// js/core hears of a module that cannot be instantiated; by itself the glue would wait for ever.
			define: { 'WebAssembly.instantiate': 'moduleArg.instantiate' },
		});
		if (!/\.instantiate\(/.test(glue.code) || glue.code.includes('WebAssembly'))
			throw new Error(`the glue of ${name} is not as expected: see js/core/load.ts`);
		for (const target of ['js/wasm', 'dist/wasm']) {
			mkdirSync(join(root, target), { recursive: true });
			writeFileSync(join(root, target, `${name}.mjs`), glue.code);
			copyFileSync(`${made}.wasm`, join(root, target, `${name}.wasm`));
			const base64 = readFileSync(`${made}.wasm`).toString('base64');
			writeFileSync(join(root, target, `${name}.inline.mjs`), `export default '${base64}';\n`);
		}
		for (const types of [`${name}.d.mts`, `${name}.inline.d.mts`]) {
			copyFileSync(join(root, 'js/wasm', types), join(root, 'dist/wasm', types));
		}
		const parts = ['mjs', 'wasm'].map((ending) => brotli(join(root, 'dist/wasm', `${name}.${ending}`)));
		console.log(`${name}: glue ${parts[0]} + wasm ${parts[1]} bytes (brotli 11)`);
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const names = process.argv.slice(2);
	const unknown = names.filter((name) => !targets.includes(name));
	try {
		if (unknown.length > 0)
			throw new Error(`unknown target ${unknown.join(', ')}: there are ${targets.join(', ')}`);
		await buildWasm(names.length > 0 ? names : undefined);
	} catch (error) {
		console.error(error.message);
		process.exit(1);
	}
}
