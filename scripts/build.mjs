// Builds everything that runs: wasm, the package (dist/), the development server and the demo page.
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root, run, setup } from './setup.mjs';

export function build({ demo = true, quiet = false } = {}) {
	const env = setup('build');
	run(process.execPath, ['scripts/build-wasm.mjs'], { env, quiet });
	const tsc = join(root, 'node_modules/typescript/bin/tsc');
	run(process.execPath, [tsc, '-p', 'js']);
	run(process.execPath, [tsc, '-p', 'dev-server']);
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
