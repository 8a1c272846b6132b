import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { expect, inject, it } from 'vitest';
import { run } from './support/run.js';

const bin = (name: string): string =>
	fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

it('publint finds nothing in the installed package', async () => {
	const { messages } = await publint({ pkgDir: join(inject('project'), 'node_modules/tidemark') });
	expect(messages).toEqual([]);
});

it('every entry’s types are what its code is, for every way to resolve a module', async () => {
	const files = ['feed.wasm', 'full.wasm', 'page/tidemark.js', 'page/watch.js', 'page/*.js'];
	const output = await run(
		inject('project'),
		bin('attw'),
		inject('tarball'),
		'--profile',
		'esm-only',
		'--format',
		'json',
		'--exclude-entrypoints',
		...files.map((file) => `./${file}`),
	);
	const { analysis } = JSON.parse(output) as {
		analysis: { problems: { resolutionKind?: string }[]; entrypoints: object };
	};
	expect(Object.keys(analysis.entrypoints)).toContain('./watch/inline');
	// The package is ESM, which require() takes; resolution before export maps is not served.
	const served = analysis.problems.filter(
		({ resolutionKind }) => resolutionKind !== 'node10' && resolutionKind !== 'node16-cjs',
	);
	expect(served).toEqual([]);
});
