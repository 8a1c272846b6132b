// Formats what `npm test` checks.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run, setup } from './setup.mjs';

setup('test');
const cpp = ['src', 'wasm', 'tests/cpp', 'tools'].flatMap((folder) =>
	readdirSync(join(root, folder), { recursive: true })
		.map(String)
		.filter((name) => /\.(cpp|hpp)$/.test(name))
		.map((name) => join(folder, name)),
);
run('clang-format-19', ['-i', ...cpp]);
run(join(root, 'node_modules/.bin/biome'), ['check', '--write', '.']);
