#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { startGateway, startServer } from '../index.js';
import { HELP, parseArguments } from './arguments.js';
import { GATEWAY_HELP, parseGatewayArguments } from './gateway_arguments.js';

interface Running {
	/** What is listened on, by the name of the listener. */
	addresses: Record<string, string | undefined>;
	close(): Promise<void>;
}

/** Runs until a signal comes. Addresses are printed when it is ready. */
async function run(starting: Promise<Running>, json: boolean): Promise<void> {
	// Before the address is printed: whoever reads it may send a signal at once.
	let stopping = false;
	const stop = (): void => {
		// A second signal does not wait.
		if (stopping) process.exit(1);
		stopping = true;
		starting
			.then((running) => running.close())
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
	const { addresses } = await starting;
	if (json) process.stdout.write(`${JSON.stringify(addresses)}\n`);
	else for (const address of Object.values(addresses)) if (address) console.log(`listening on ${address}`);
}

async function runServer(argv: string[]): Promise<void> {
	const parsed = parseArguments(argv, (path) => readFileSync(path, 'utf8'));
	if (parsed === 'help') {
		process.stdout.write(`${HELP}\n${GATEWAY_HELP}`);
		return;
	}
	const starting = startServer(parsed.options).then((server) => {
		const { ws, tcp, http } = server.addresses;
		const shown = parsed.json ? tcp : tcp && `tcp://${tcp}`;
		return { addresses: { ws, tcp: shown, http }, close: () => server.close() };
	});
	await run(starting, parsed.json);
}

async function runGateway(argv: string[]): Promise<void> {
	const parsed = parseGatewayArguments(argv, (path) => readFileSync(path));
	if (parsed === 'help') {
		process.stdout.write(GATEWAY_HELP);
		return;
	}
	const starting = startGateway(parsed.options).then((gateway) => ({
		addresses: { ws: gateway.address },
		close: () => gateway.close(),
	}));
	await run(starting, parsed.json);
}

const [command, ...rest] = process.argv.slice(2);
const done = command === 'gateway' ? runGateway(rest) : runServer(process.argv.slice(2));
done.catch((error: unknown) => {
	console.error(error instanceof Error ? error.message : error);
	process.exit(2);
});
