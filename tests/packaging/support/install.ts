import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
	interface ProvidedContext {
		/** Folder of a project that has the tarball installed, and the programs of `projects/` in folders of their own. */
		project: string;
		tarball: string;
	}
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const projects = fileURLToPath(new URL('../projects', import.meta.url));

/**
 * Packs once and installs that, far from the clone: nothing is found that the tarball does not bring. Returns the
 * tear-down.
 */
export default async function setup({ provide }: TestProject): Promise<() => void> {
	const folder = mkdtempSync(join(tmpdir(), 'tidemark-packaging-'));
	const npm = (cwd: string, ...args: string[]): string =>
		execFileSync('npm', [...args, '--ignore-scripts', '--loglevel=error'], { cwd, encoding: 'utf8' });
	const [packed] = JSON.parse(npm(root, 'pack', '--json', '--pack-destination', folder)) as [
		{ filename: string },
	];
	const tarball = join(folder, packed.filename);
	const project = join(folder, 'project');
	cpSync(projects, project, { recursive: true });
	writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }\n');
	npm(project, 'install', '--no-audit', '--no-fund', '--prefer-offline', tarball);
	await build({
		entryPoints: [fileURLToPath(new URL('../conformance.ts', import.meta.url))],
		bundle: true,
		format: 'esm',
		external: ['tidemark/*', 'node:*'],
		outfile: join(project, 'runtimes/conformance.mjs'),
	});
	provide('project', project);
	provide('tarball', tarball);
	return () => {
		rmSync(folder, { recursive: true, force: true });
	};
}
