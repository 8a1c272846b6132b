import process from 'node:process';
import { ConfigError, LaserError } from '../errors/index.js';
import { credentialsFrom, HELP, parseTail } from './arguments.js';
import { tail } from './tail.js';

const FAILED = 1;
const MISUSED = 2;

/** Ends at the first SIGINT or SIGTERM, or when nobody reads the output; a second signal does not wait. */
function ending(): AbortController {
	const controller = new AbortController();
	const stop = (): void => {
		if (controller.signal.aborted) process.exit(FAILED);
		controller.abort();
	};
	process.on('SIGINT', stop);
	process.on('SIGTERM', stop);
	return controller;
}

function printer(controller: AbortController): (text: string) => Promise<void> {
	let failure: Error | undefined;
	let settle = (): void => {};
	process.stdout.on('error', (error) => {
		failure = error;
		controller.abort();
		settle();
	});
	return (text) =>
		new Promise((resolve, reject) => {
			settle = () => (failure === undefined ? resolve() : reject(new OutputClosed()));
			if (failure !== undefined) settle();
			else process.stdout.write(text, () => settle());
		});
}

/** `tidemark tail … | head` is no failure. */
class OutputClosed extends Error {}

async function main(argv: readonly string[]): Promise<number> {
	const [command, ...rest] = argv;
	if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
		process.stdout.write(HELP);
		return command === undefined ? MISUSED : 0;
	}
	try {
		if (command !== 'tail') throw new ConfigError('there is one command: tail');
		const given = parseTail(rest);
		if (given === 'help') {
			process.stdout.write(HELP);
			return 0;
		}
		const credentials = credentialsFrom(process.env);
		const controller = ending();
		await tail(given, credentials, {
			print: printer(controller),
			say: (text) => void process.stderr.write(`tidemark: ${text}\n`),
			colours: process.stdout.isTTY === true && !process.env['NO_COLOR'],
			signal: controller.signal,
		});
		return 0;
	} catch (error) {
		if (error instanceof OutputClosed) return 0;
		const text = error instanceof LaserError ? error.message : String(error);
		process.stderr.write(`tidemark: ${text}\n`);
		return error instanceof ConfigError ? MISUSED : FAILED;
	}
}

process.exitCode = await main(process.argv.slice(2));
