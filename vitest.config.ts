import { defineConfig } from 'vitest/config';

export default defineConfig({
	test: {
		projects: [
			{ test: { name: 'js', include: ['tests/js/**/*.test.ts', 'tests/hand-ts/**/*.test.ts'], testTimeout: 30_000 } },
			{ test: { name: 'dev-server', include: ['dev-server/tests/**/*.test.ts'], testTimeout: 30_000 } },
			{
				test: {
					name: 'browser',
					include: ['tests/browser/**/*.test.ts'],
					testTimeout: 120_000,
					hookTimeout: 120_000,
					// Browsers are heavy and the machine may be small.
					fileParallelism: false,
				},
			},
			{
				test: {
					name: 'packaging',
					include: ['tests/packaging/**/*.test.ts'],
					testTimeout: 120_000,
					fileParallelism: false,
				},
			},
		],
	},
});
