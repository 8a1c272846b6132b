import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** Builds the test page once per run, by the bundler's defaults, as an application would be. */
export default async function setup(): Promise<void> {
	await build({
		root: fileURLToPath(new URL('../page', import.meta.url)),
		base: './',
		logLevel: 'warn',
		build: {
			outDir: fileURLToPath(new URL('../../../build/browser-page', import.meta.url)),
			emptyOutDir: true,
			target: 'es2022',
			assetsInlineLimit: 0,
		},
	});
}
