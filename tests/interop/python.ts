import { fileURLToPath } from 'node:url';
import { run } from '../support/program.js';

const setup = new URL('../../scripts/setup.mjs', import.meta.url).href;
const { pythonClients } = (await import(setup)) as { pythonClients(): string };

const LIMIT_MS = 60_000;

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Runs one of the programs; its output, whose last line must be `ok`. */
export async function program(name: string, ...args: string[]): Promise<string[]> {
	const output = await run(LIMIT_MS, pythonClients(), [path('run.py'), path(`programs/${name}.py`), ...args]);
	const lines = output.trimEnd().split('\n');
	if (lines.at(-1) !== 'ok') throw new Error(`${name} ended without its last line\n${output}`);
	return lines.slice(0, -1);
}
