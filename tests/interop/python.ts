import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pythonClients } from '../../scripts/setup.mjs';

const LIMIT_MS = 60_000;

/** Runs one of the programs; its output, whose last line must be `ok`. */
export function program(name: string, ...args: string[]): Promise<string[]> {
	const file = fileURLToPath(new URL(`programs/${name}.py`, import.meta.url));
	const child = spawn(pythonClients(), [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
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
