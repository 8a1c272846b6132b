import { run as runProgram } from '../../support/program.js';

const LIMIT_MS = 170_000;

/** As the runner of all tests, in a folder and with tools told to print plainly. */
export function run(cwd: string, command: string, ...args: string[]): Promise<string> {
	const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '', NEXT_TELEMETRY_DISABLED: '1' };
	return runProgram(LIMIT_MS, command, args, { cwd, env });
}
