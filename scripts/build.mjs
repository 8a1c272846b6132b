// Builds everything that runs: wasm, the package (dist/), the development server and the demo page.
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, run, setup } from './setup.mjs';

/**
 * The entries in one file each, for pages without a bundler: the package's own names (`#platform/…`) mean nothing to a
 * browser. They look for the wasm where the others do, in dist/wasm.
 */
function pageFiles(quiet) {
	const esbuild = join(root, 'node_modules/esbuild/bin/esbuild');
	rmSync(join(root, 'dist/page'), { recursive: true, force: true });
	run(
		esbuild,
		[
			'tidemark=dist/index.js',
			'watch=dist/watch.js',
			'--bundle',
			'--format=esm',
			'--target=es2022',
			'--conditions=browser',
			'--minify',
			'--log-level=warning',
			'--outdir=dist/page',
		],
		{ quiet },
	);
}

export function build({ demo = true, quiet = false } = {}) {
	const env = setup('build');
	run(process.execPath, ['scripts/build-wasm.mjs'], { env, quiet });
	const tsc = join(root, 'node_modules/typescript/bin/tsc');
	run(process.execPath, [tsc, '-p', 'js'], { quiet });
	pageFiles(quiet);
	run(process.execPath, [tsc, '-p', 'dev-server'], { quiet });
	chmodSync(join(root, 'dev-server/dist/cli/main.js'), 0o755);
	if (demo && existsSync(join(root, 'web-demo/index.html'))) {
		run(process.execPath, [
			join(root, 'node_modules/vite/bin/vite.js'),
			'build',
			'web-demo',
			'--logLevel',
			'warn',
		]);
	}
	return env;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	try {
		build();
	} catch (error) {
		console.error(error.message);
		process.exit(1);
	}
}
