import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTcp } from '../wire/client.js';
import { Driver, status } from '../wire/driver.js';
import * as build from '../wire/requests.js';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
const out = mkdtempSync('/tmp/tidemark-built-');
const children: ChildProcess[] = [];

beforeAll(() => {
	// The real program, built beside the sources so that its packages resolve.
	execFileSync(
		`${REPOSITORY}node_modules/.bin/esbuild`,
		[
			`${REPOSITORY}dev-server/src/cli/main.ts`,
			'--bundle',
			'--platform=node',
			'--format=esm',
			'--packages=external',
			`--outfile=${REPOSITORY}dev-server/build/kill-test.mjs`,
		],
		{ stdio: 'pipe' },
	);
}, 60_000);

afterAll(() => {
	for (const child of children) child.kill('SIGKILL');
});

async function run(dataDir: string): Promise<{ child: ChildProcess; tcp: string }> {
	const program = `${REPOSITORY}dev-server/build/kill-test.mjs`;
	const args = [program, 'start', '--tcp', '127.0.0.1:0', '--data', dataDir, '--no-plane', '--json'];
	const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
	children.push(child);
	for await (const line of createInterface({ input: child.stdout! })) {
		return { child, tcp: (JSON.parse(line) as { tcp: string }).tcp };
	}
	throw new Error('the server printed no address');
}

const ended = (child: ChildProcess): Promise<number | null> =>
	new Promise((done) => child.once('exit', (code) => done(code)));

it('a killed server has every acknowledged send, offset and topic after its restart', async () => {
	const dataDir = `${out}/data`;
	let acknowledged = 0;
	let stored = -1n;
	for (let round = 0; round < 6; round++) {
		const { child, tcp } = await run(dataDir);
		const driver = new Driver(await openTcp(tcp), Buffer.alloc(16, round + 1));
		await driver.login();
		if (round === 0) await driver.createTopic('s', 't');
		const seen: string[] = [];
		while (true) {
			const polled = await driver.poll('s', 't', { value: BigInt(seen.length), count: 10_000 });
			if (polled.count === 0) break;
			seen.push(...polled.messages.map((message) => message.payload));
		}
		// One send may have been stored whose answer the kill prevented.
		expect(seen.length).toBeGreaterThanOrEqual(acknowledged);
		expect(seen).toEqual(seen.map((_, index) => `record ${index}`));
		const offset = await driver.read(120, Buffer.concat([...target(), build.partition(0)]));
		if (stored >= 0n) expect(offset.readBigUInt64LE(256 + 12)).toBeGreaterThanOrEqual(stored);
		acknowledged = seen.length;
		const until = Date.now() + 60 + 40 * round;
		let killed = false;
		setTimeout(() => {
			killed = true;
			child.kill('SIGKILL');
		}, until - Date.now());
		try {
			while (!killed) {
				const payloads = Array.from(
					{ length: 1 + (acknowledged % 7) },
					(_, at) => `record ${acknowledged + at}`,
				);
				const reply = await driver.send('s', 't', 0, ...payloads);
				expect(status(reply)).toBe(0);
				acknowledged += payloads.length;
				const at = BigInt(acknowledged - 1);
				const body = Buffer.concat([...target(), build.partition(0), build.u64(at), build.u8(1)]);
				expect(status(await driver.write(161, body))).toBe(0);
				stored = at;
			}
		} catch (error) {
			if (!killed) throw error;
		}
		if (child.exitCode === null && child.signalCode === null) await ended(child);
	}
	expect(acknowledged).toBeGreaterThan(100);
}, 60_000);

it('a server told to stop ends cleanly', async () => {
	const { child, tcp } = await run(`${out}/clean`);
	await openTcp(tcp);
	const code = ended(child);
	child.kill('SIGTERM');
	expect(await code).toBe(0);
});

function target(): Buffer[] {
	return [build.consumer('reader'), build.named('s'), build.named('t')];
}
