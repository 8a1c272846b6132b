import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Tests run on the sources: package.json's conditional `imports` name what the compiler makes of them.
const source = (path: string) => fileURLToPath(new URL(`js/platform/${path}`, import.meta.url));
const resolve = {
	alias: {
		'#platform/file': source('file.node.ts'),
		'#platform/socket': source('socket.node.ts'),
		'#platform/wasm-feed': source('wasm-feed.ts'),
		'#platform/wasm-full': source('wasm-full.ts'),
	},
};

export default defineConfig({
	test: {
		projects: [
			{ resolve, test: { name: 'js', include: ['tests/js/**/*.test.ts', 'tests/hand-ts/**/*.test.ts'], testTimeout: 30_000 } },
			{
				resolve,
				test: {
					name: 'faults',
					include: ['tests/faults/**/*.test.ts'],
					testTimeout: 60_000,
					hookTimeout: 60_000,
					// Deadlines are short on purpose: the files do not compete for the processor.
					fileParallelism: false,
				},
			},
			{ test: { name: 'dev-server', include: ['dev-server/tests/**/*.test.ts'], testTimeout: 30_000 } },
			{
				resolve,
				test: {
					name: 'browser',
					include: ['tests/browser/**/*.test.ts'],
					// Minutes long and not settled: see docs/status.md. It has a project of its own.
					exclude: ['tests/browser/kill.test.ts'],
					globalSetup: ['tests/browser/support/build-page.ts'],
					// What is built is run as it is, by Node's own rules.
					server: { deps: { external: [/\/dist\//] } },
					testTimeout: 120_000,
					hookTimeout: 120_000,
					// Browsers are heavy and the machine may be small.
					fileParallelism: false,
				},
			},
			{
				resolve,
				test: {
					name: 'kill',
					include: ['tests/browser/kill.test.ts'],
					globalSetup: ['tests/browser/support/build-page.ts'],
					server: { deps: { external: [/\/dist\//] } },
				},
			},
			{
				test: {
					name: 'packaging',
					include: ['tests/packaging/*.test.ts'],
					exclude: ['tests/packaging/bundlers.test.ts'],
					globalSetup: ['tests/packaging/support/install.ts'],
					server: { deps: { external: [/\/dist\//] } },
					testTimeout: 60_000,
					hookTimeout: 60_000,
					fileParallelism: false,
				},
			},
			{
				test: {
					name: 'bundlers',
					include: ['tests/packaging/bundlers.test.ts'],
					globalSetup: ['tests/packaging/support/install.ts'],
					server: { deps: { external: [/\/dist\//] } },
					testTimeout: 200_000,
					hookTimeout: 200_000,
				},
			},
			{
				resolve,
				test: {
					name: 'interop',
					include: ['tests/interop/**/*.test.ts'],
					testTimeout: 70_000,
					hookTimeout: 120_000,
					fileParallelism: false,
				},
			},
		],
	},
});
