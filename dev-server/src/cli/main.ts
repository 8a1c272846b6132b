#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { startServer } from '../index.js';
import { HELP, parseArguments } from './arguments.js';

async function main(): Promise<void> {
	const parsed = parseArguments(process.argv.slice(2), (path) => readFileSync(path, 'utf8'));
	if (parsed === 'help') {
		process.stdout.write(HELP);
		return;
	}
	const starting = startServer(parsed.options);
	// Before the address is printed: whoever reads it may send a signal at once.
	let stopping = false;
	const stop = (): void => {
		// A second signal does not wait.
		if (stopping) process.exit(1);
		stopping = true;
		starting
			.then((server) => server.close())
			.then(
				() => process.exit(0),
				(error: unknown) => {
					console.error(error);
					process.exit(1);
				},
			);
	};
	process.on('SIGINT', stop);
	process.on('SIGTERM', stop);
	const { ws, tcp, http } = (await starting).addresses;
	if (parsed.json) process.stdout.write(`${JSON.stringify({ ws, tcp, http })}\n`);
	else
		for (const address of [ws, tcp && `tcp://${tcp}`, http])
			if (address) console.log(`listening on ${address}`);
}

main().catch((error: unknown) => {
	console.error(error instanceof Error ? error.message : error);
	process.exit(2);
});
