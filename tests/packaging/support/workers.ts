import { dirname } from 'node:path';

/** The part of miniflare that is used. Its own types need a package of a hundred thousand lines. */
export interface Workers {
	dispatchFetch(url: string): Promise<Response>;
	dispose(): Promise<void>;
}

export interface WorkersOptions {
	scriptPath: string;
	durableObjects: Record<string, { className: string; useSQLite: boolean }>;
	durableObjectsPersist?: string;
	bindings?: Record<string, string>;
}

const name: string = 'miniflare';
const { Miniflare } = (await import(name)) as { Miniflare: new (options: object) => Workers };

export function startWorkers(options: WorkersOptions): Workers {
	return new Miniflare({
		modules: true,
		// Modules are named relative to this, and no name may begin with `..`.
		modulesRoot: dirname(options.scriptPath),
		compatibilityDate: '2026-04-01',
		modulesRules: [
			{ type: 'ESModule', include: ['**/*.mjs'] },
			{ type: 'CompiledWasm', include: ['**/*.wasm'] },
		],
		cf: false,
		telemetry: { enabled: false },
		...options,
	});
}
