import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CommandError, type Laser, LaserError } from '../../js/index.js';
import { DIALECTS, type Reached, reach } from './support/ways.js';
import { connectCounted, errorOf, SocketCount, USER } from './support/world.js';

const GET_TOPIC = 300;
const SEND = 101;

/** Every code of the protocol's table of errors. */
function tableOfCodes(): number[] {
	const text = readFileSync(new URL('../../docs/protocol/iggy-vsr.md', import.meta.url), 'utf8');
	const from = text.indexOf('### 16.1');
	const codes = text
		.slice(from, text.indexOf('### 16.2'))
		.split('\n')
		.filter((line) => line.startsWith('| '))
		.flatMap((line) => (line.split('|')[1] ?? '').match(/\d+/g) ?? [])
		.map(Number);
	return [...new Set(codes)];
}
const CODES = tableOfCodes();

/** Answered by doing the same once more, or after a login, or after looking the partition up again. */
const REPEATED = [30, 40, 57, 58, 87, 88, 89, 90];
const READ_BACK = 59;

it('the table has all its codes', () => {
	expect(CODES.length).toBe(92);
	for (const code of [1, 59, 87, 95, 1009, 2023, 3014, 4043, 4108, 5010]) expect(CODES).toContain(code);
});

describe.each(DIALECTS)('a server of %s that refuses', (dialect) => {
	let reached: Reached;
	let laser: Laser;
	beforeAll(async () => {
		reached = await reach({ name: dialect, dialect, gateway: false });
		laser = await connectCounted(
			reached.url,
			{ ...USER, stream: 'shop', dialects: [dialect], publishRetryBackoffMs: 5 },
			new SocketCount(),
		);
		await laser.topic('t').ensure(1);
	});
	afterAll(async () => {
		await laser?.close();
		await reached?.close();
	});
	afterEach(() => reached.server.faults.clear());

	it.each(CODES)('a read with %i: repeated where that may help, else a typed error', async (status) => {
		await reached.server.faults.apply({ kind: 'status', status, command: GET_TOPIC });
		const look = laser.topic('t').offsetForTime(0n);
		if (REPEATED.includes(status)) {
			expect((await look).size).toBe(1);
			return;
		}
		const error = await errorOf(look);
		expect(error).toBeInstanceOf(LaserError);
		if (status === READ_BACK) {
			expect(error.kind).toBe('transport');
			return;
		}
		expect(error).toBeInstanceOf(CommandError);
		expect(error).toMatchObject({ kind: 'command', resultCode: status });
		expect((error as CommandError).codeName).not.toBe('Unknown');
		expect((error as CommandError).codeName).toBeTruthy();
	});

	it.each(CODES)('a send with %i: stored once where it goes again, else a typed error', async (status) => {
		const before = reached.server.log.end('shop', 't', 0);
		await reached.server.faults.apply({ kind: 'status', status, command: SEND });
		const send = laser.topic('t').publish().json({ status }).partition(0).send();
		// A partition or its topic that is not there may have been made anew: it is looked up once more.
		if ([...REPEATED, READ_BACK, 20, 3007].includes(status)) {
			await send;
			expect(reached.server.log.end('shop', 't', 0) - before).toBe(1n);
			return;
		}
		const error = await errorOf(send);
		expect(error).toMatchObject({ kind: 'command', resultCode: status });
		expect(reached.server.log.end('shop', 't', 0)).toBe(before);
	});

	it('with a number that nobody knows: an error of that number', async () => {
		await reached.server.faults.apply({ kind: 'status', status: 77_777, command: GET_TOPIC });
		expect(await errorOf(laser.topic('t').offsetForTime(0n))).toMatchObject({
			kind: 'command',
			resultCode: 77_777,
		});
	});
});
