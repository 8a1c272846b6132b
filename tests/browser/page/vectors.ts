// Runs golden files through the vectors runner, compiled to wasm, in the page.

export interface VectorsReport {
	status: number;
	lines: string[];
}

interface Runner {
	runVectors(parts: {
		create: unknown;
		module: WebAssembly.Module;
		files: [string, Uint8Array][];
		only: string;
		print(line: string): void;
	}): Promise<number>;
}

/** Loads `/vectors/runner.mjs`, `/vectors/glue.mjs`, `/vectors/core.wasm` and the files of one kind from where the page is. */
export async function run(kind: string, only: string): Promise<VectorsReport> {
	const at = (name: string): string => new URL(`/vectors/${name}`, location.href).href;
	const { runVectors } = (await import(/* @vite-ignore */ at('runner.mjs'))) as Runner;
	const { default: create } = (await import(/* @vite-ignore */ at('glue.mjs'))) as { default: unknown };
	const module = await WebAssembly.compileStreaming(fetch(at('core.wasm')));
	const given = (await (await fetch(at(`${kind}.json`))).json()) as Record<string, string>;
	const files = Object.entries(given).map(([name, base64]): [string, Uint8Array] => [
		name,
		Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)),
	]);
	const lines: string[] = [];
	const status = await runVectors({ create, module, files, only, print: (line) => lines.push(line) });
	return { status, lines };
}
