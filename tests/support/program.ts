import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** A program that runs, and what it has printed so far. */
export interface Program {
	readonly process: ChildProcessByStdio<null, Readable, Readable>;
	output(): string;
	errors(): string;
	/** Exit code or signal, once it has ended and all it printed was read. */
	readonly end: Promise<number | string>;
}

export function start(
	command: string,
	args: readonly string[],
	options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): Program {
	const process = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
	let output = '';
	let errors = '';
	process.stdout.on('data', (chunk: Buffer) => {
		output += chunk.toString();
	});
	process.stderr.on('data', (chunk: Buffer) => {
		errors += chunk.toString();
	});
	const end = new Promise<number | string>((resolve, reject) => {
		process.once('error', reject);
		process.once('close', (code, signal) => resolve(code ?? signal ?? 'nothing'));
	});
	return { process, output: () => output, errors: () => errors, end };
}

/** Runs a program to its end; what it printed. Anything but exit code 0 is an error that shows all it said. */
export async function run(
	limitMs: number,
	command: string,
	args: readonly string[],
	options?: Pick<SpawnOptions, 'cwd' | 'env'>,
): Promise<string> {
	const { process, output, errors, end } = start(command, args, options);
	const timer = setTimeout(() => process.kill('SIGKILL'), limitMs);
	try {
		const how = await end;
		if (how === 0) return output();
		throw new Error(`${[command, ...args].join(' ')} ended with ${how}\n${output()}${errors()}`);
	} finally {
		clearTimeout(timer);
	}
}
