import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const setup = new URL('../../scripts/setup.mjs', import.meta.url).href;
const { pythonClients } = (await import(setup)) as { pythonClients(): string };

const LIMIT_MS = 60_000;

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Runs one of the programs; its output, whose last line must be `ok`. */
export function program(name: string, ...args: string[]): Promise<string[]> {
	const command = [path('run.py'), path(`programs/${name}.py`), ...args];
	const child = spawn(pythonClients(), command, { stdio: ['ignore', 'pipe', 'pipe'] });
	let output = '';
	let errors = '';
	child.stdout.on('data', (chunk: Buffer) => {
		output += chunk.toString();
	});
	child.stderr.on('data', (chunk: Buffer) => {
		errors += chunk.toString();
	});
	const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
	return new Promise((done, fail) => {
		child.once('error', fail);
		child.once('close', (code, signal) => {
			clearTimeout(timer);
			const lines = output.trimEnd().split('\n');
			if (code === 0 && lines.at(-1) === 'ok') done(lines.slice(0, -1));
			else fail(new Error(`${name} ended with ${code ?? signal}\n${output}${errors}`));
		});
	});
}
