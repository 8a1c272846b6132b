import { spawn } from 'node:child_process';

const LIMIT_MS = 170_000;

/** Runs a program to its end; what it printed. Anything but exit code 0 is an error that shows all it said. */
export function run(cwd: string, command: string, ...args: string[]): Promise<string> {
	const child = spawn(command, args, {
		cwd,
		stdio: ['ignore', 'pipe', 'pipe'],
		env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '', NEXT_TELEMETRY_DISABLED: '1' },
	});
	let output = '';
	let errors = '';
	child.stdout.on('data', (chunk: Buffer) => {
		output += chunk.toString();
	});
	child.stderr.on('data', (chunk: Buffer) => {
		errors += chunk.toString();
	});
	const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
	return new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('close', (code, signal) => {
			clearTimeout(timer);
			if (code === 0) resolve(output);
			else
				reject(new Error(`${[command, ...args].join(' ')} ended with ${code ?? signal}\n${output}${errors}`));
		});
	});
}
