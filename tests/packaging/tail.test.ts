import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { start as startProgram } from '../support/program.js';
import { type Server, TEN, tenServer } from './support/server.js';

const command = join(inject('project'), 'node_modules/.bin/tidemark');
const LOGIN = { TIDEMARK_USERNAME: 'iggy', TIDEMARK_PASSWORD: 'iggy' };

interface Tail {
	process: ChildProcess;
	lines(): string[];
	errors(): string;
	/** Waits for that many lines. */
	until(count: number): Promise<string[]>;
	/** Resolves with exit code or signal. */
	end: Promise<number | string>;
}

const running = new Set<ChildProcess>();

function start(args: readonly string[], environment: Record<string, string> = LOGIN): Tail {
	const { PATH, HOME } = process.env;
	const {
		process: child,
		output,
		errors,
		end,
	} = startProgram(command, ['tail', ...args], {
		env: { PATH, HOME, ...environment },
	});
	running.add(child);
	const lines = (): string[] => output().split('\n').slice(0, -1);
	return {
		process: child,
		lines,
		errors,
		until: async (count) => {
			const deadline = Date.now() + 20_000;
			while (lines().length < count) {
				if (Date.now() > deadline || child.exitCode !== null) {
					throw new Error(`${lines().length} of ${count} lines\n${output()}${errors()}`);
				}
				await new Promise((resolve) => setTimeout(resolve, 10));
			}
			return lines();
		},
		end: end.finally(() => running.delete(child)),
	};
}

let server: Server;
let folder: string;
let topic: string[];
const file = (name: string): string => join(folder, name);

const numbers = (lines: readonly string[]): number[] =>
	lines.map((line) => (JSON.parse((JSON.parse(line) as { text: string }).text) as { n: number }).n);

beforeAll(async () => {
	server = await tenServer({ plane: true });
	folder = await mkdtemp(join(tmpdir(), 'tidemark-tail-'));
	topic = [server.ws, '--stream', 'pack', '--topic', 'ten'];
});
afterEach(() => {
	for (const child of running) child.kill('SIGKILL');
});
afterAll(async () => {
	await server?.close();
	await rm(folder, { recursive: true, force: true });
});

describe('tidemark tail', () => {
	it('prints what is there and what comes, a line each, and ends with 0 at Ctrl-C', async () => {
		const tail = start([...topic, '--from-start']);
		expect((await tail.until(10))[3]).toMatch(/^0:3 20\d\d-[0-9T:.-]+Z \{"n":3\}$/);
		await server.append(10, 1);
		expect((await tail.until(11))[10]).toMatch(/^0:10 .* \{"n":10\}$/);
		tail.process.kill('SIGINT');
		expect(await tail.end).toBe(0);
		expect(tail.lines().length).toBe(11);
		expect(tail.errors()).toBe('');
	});

	it('goes on after Ctrl-C with exactly the next record', async () => {
		const args = [...topic, '--from-start', '--json', '--position-file', file('ctrl-c')];
		const first = start(args);
		const before = numbers(await first.until(11));
		first.process.kill('SIGINT');
		expect(await first.end).toBe(0);
		await server.append(11, 2);
		const second = start(args);
		expect(numbers(await second.until(2))).toEqual([11, 12]);
		second.process.kill('SIGTERM');
		expect(await second.end).toBe(0);
		expect(before.slice(0, 10)).toEqual(TEN);
		expect((await readdir(folder)).filter((name) => name.startsWith('ctrl-c'))).toEqual(['ctrl-c']);
	});

	it('without a position begins at what comes now', async () => {
		const args = [...topic, '--json', '--position-file', file('now')];
		const first = start(args);
		// The place is kept as soon as it is known, before any record came.
		for (let i = 0; i < 500 && !(await readdir(folder)).includes('now'); i++) {
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		first.process.kill('SIGINT');
		expect(await first.end).toBe(0);
		expect(first.lines()).toEqual([]);
		await server.append(13, 1);
		const second = start(args);
		expect(numbers(await second.until(1))).toEqual([13]);
		second.process.kill('SIGINT');
		await second.end;
	});

	it('killed again and again while records come, prints every record; only the last batch may come twice', async () => {
		await server.log.ensureTopic('pack', 'many', 1);
		const args = [server.ws, '--stream', 'pack', '--topic', 'many', '--from-start', '--json'];
		args.push('--position-file', file('killed'));
		const total = 6_000;
		let appended = 0;
		const producing = setInterval(() => {
			if (appended >= total) return;
			const records = Array.from({ length: 60 }, () => ({
				payload: new TextEncoder().encode(JSON.stringify({ n: appended++, padding: 'x'.repeat(400) })),
			}));
			void server.log.append('pack', 'many', 0, records);
		}, 20);
		const seen: number[] = [];
		try {
			for (let kill = 0; seen.at(-1) !== total - 1; kill++) {
				expect(kill).toBeLessThan(20);
				const tail = start(args);
				await tail.until(1);
				if (kill < 5) {
					await new Promise((resolve) => setTimeout(resolve, 40 * kill));
					tail.process.kill('SIGKILL');
					await tail.end;
				} else {
					while (
						!tail
							.lines()
							.at(-1)
							?.includes(`{\\"n\\":${total - 1},`)
					) {
						await new Promise((resolve) => setTimeout(resolve, 20));
					}
					tail.process.kill('SIGINT');
					expect(await tail.end).toBe(0);
				}
				const printed = numbers(tail.lines());
				// No hole between two runs, nor inside one.
				expect(printed[0]).toBeLessThanOrEqual((seen.at(-1) ?? -1) + 1);
				expect(printed).toEqual(printed.map((_, i) => printed[0]! + i));
				seen.push(...printed);
			}
		} finally {
			clearInterval(producing);
		}
		expect(new Set(seen).size).toBe(total);
	});

	it('a damaged position file, or one that another tail uses, ends it before anything is printed', async () => {
		await writeFile(file('damaged'), 'not what was written');
		const damaged = start([...topic, '--from-start', '--position-file', file('damaged')]);
		expect(await damaged.end).toBe(1);
		expect(damaged.errors()).toMatch(/is damaged/);
		const args = [...topic, '--from-start', '--position-file', file('busy')];
		const first = start(args);
		await first.until(10);
		const second = start(args);
		expect(await second.end).toBe(1);
		expect(second.errors()).toMatch(/another tail uses/);
		expect([...damaged.lines(), ...second.lines()]).toEqual([]);
		first.process.kill('SIGINT');
		expect(await first.end).toBe(0);
	});

	it('takes credentials from the environment only, and repeats none', async () => {
		const none = start(topic, {});
		expect(await none.end).toBe(2);
		expect(none.errors()).toMatch(/TIDEMARK_TOKEN/);
		const inside = start([server.ws.replace('ws://', 'ws://iggy:hush@'), ...topic.slice(1)]);
		expect(await inside.end).toBe(2);
		const option = start([...topic, '--password', 'hush']);
		expect(await option.end).toBe(2);
		const wrong = start(topic, { TIDEMARK_USERNAME: 'iggy', TIDEMARK_PASSWORD: 'hush' });
		expect(await wrong.end).toBe(1);
		for (const tail of [inside, option, wrong]) {
			expect(tail.errors().length).toBeGreaterThan(10);
			expect(tail.errors()).not.toMatch(/hush/);
		}
	});

	it('what a record says does not reach the terminal as a command', async () => {
		await server.log.ensureTopic('pack', 'rude', 1);
		const payloads = [Buffer.from('\u001b[2Jgone\r\n\u009b1m'), Buffer.from([0xff, 0xfe])];
		await server.log.append(
			'pack',
			'rude',
			0,
			payloads.map((payload) => ({ payload })),
		);
		const tail = start([server.ws, '--stream', 'pack', '--topic', 'rude', '--from-start']);
		const lines = await tail.until(2);
		expect(lines[0]).toMatch(/ \\u001b\[2Jgone\\u000d\\u000a\\u009b1m$/);
		expect(lines[1]).toMatch(/ base64:\/\/4=$/);
		tail.process.kill('SIGINT');
		await tail.end;
	});

	it('follows the changes of an index', async () => {
		await server.plane!.createIndex('orders', [{ name: 'id', type: 'long' }], [], { notify: true });
		await server.plane!.appendRows('orders', [{ id: 1n }, { id: 2n }]);
		const tail = start([server.ws, '--index', 'orders', '--from-start', '--json']);
		expect(JSON.parse((await tail.until(1))[0]!)).toMatchObject({ index: 'orders', rows: 2 });
		tail.process.kill('SIGINT');
		await tail.end;
	});

	it('a reader that goes away ends it quietly', async () => {
		const tail = start([...topic, '--from-start']);
		await tail.until(10);
		tail.process.stdout!.destroy();
		await server.append(14, 1);
		expect(await tail.end).toBe(0);
	});
});
