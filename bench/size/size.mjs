// What an application pays in bytes: everything an entry pulls in, bundled and minified, with its wasm, by brotli 11.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../../scripts/setup.mjs';

/** Budgets in bytes: `warn` is printed, `limit` fails. */
export const budgets = {
	watch: { file: 'dist/watch.js', wasm: 'dist/wasm/feed.wasm', warn: 45_000, limit: 60_000 },
	full: { file: 'dist/index.js', wasm: 'dist/wasm/full.wasm', warn: 110_000, limit: 110_000 },
};

const brotli = (bytes) =>
	brotliCompressSync(bytes, {
		params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
	}).length;

export async function sizes() {
	const results = [];
	for (const [entry, { file, wasm }] of Object.entries(budgets)) {
		const bundle = await build({
			entryPoints: [join(root, file)],
			bundle: true,
			minify: true,
			format: 'esm',
			target: 'es2022',
			conditions: ['browser'],
			external: ['node:*'],
			write: false,
		});
		const parts = {
			[`${entry} javascript`]: bundle.outputFiles[0].contents,
			[basename(wasm)]: readFileSync(join(root, wasm)),
		};
		let total = 0;
		for (const [part, bytes] of Object.entries(parts)) {
			const value = brotli(bytes);
			total += value;
			results.push({
				bench: 'size',
				runtime: 'node',
				subject: part,
				metric: 'part_brotli_bytes',
				value,
				unit: 'bytes',
			});
			results.push({
				bench: 'size',
				runtime: 'node',
				subject: part,
				metric: 'part_gzip_bytes',
				value: gzipSync(bytes, { level: 9 }).length,
				unit: 'bytes',
			});
		}
		results.push({
			bench: 'size',
			runtime: 'node',
			subject: entry,
			metric: 'brotli_bytes',
			value: total,
			unit: 'bytes',
		});
	}
	return results;
}
