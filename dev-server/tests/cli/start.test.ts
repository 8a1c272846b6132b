import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startServer } from '../../src/index.js';

let folder: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), 'tidemark-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A port that somebody listens on. */
async function taken(): Promise<{ address: string; free(): Promise<unknown> }> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as { port: number };
	return { address: `127.0.0.1:${port}`, free: () => once(server.close(), 'close') };
}

const listening = (): number =>
	process.getActiveResourcesInfo().filter((one) => one === 'TCPServerWrap').length;

describe('a start that breaks off', () => {
	it.each(['ws', 'tcp', 'http'] as const)('%s on a port in use: everything is let go again', async (name) => {
		const port = await taken();
		const before = listening();
		const wanted = { ws: '127.0.0.1:0', tcp: '127.0.0.1:0', http: '127.0.0.1:0', [name]: port.address };
		await expect(startServer({ ...wanted, dataDir: folder })).rejects.toThrow('EADDRINUSE');
		// Handles are taken off the list a turn after they were closed.
		await vi.waitFor(() => expect(listening()).toBeLessThanOrEqual(before));
		await port.free();
		const server = await startServer({ ...wanted, dataDir: folder });
		expect(server.addresses[name]).toContain(port.address);
		await server.close();
		await server.close();
	});

	it('a page folder that is not there, a data folder that is a file, a fault that is none', async () => {
		const file = join(folder, 'file');
		writeFileSync(file, '');
		await expect(startServer({ http: '127.0.0.1:0', staticDir: join(folder, 'none') })).rejects.toThrow(
			'none',
		);
		await expect(startServer({ http: '127.0.0.1:0', staticDir: file })).rejects.toThrow('file');
		await expect(startServer({ ws: '127.0.0.1:0', dataDir: file })).rejects.toThrow('file');
		const faults = [{ kind: 'nonsense' }];
		await expect(startServer({ ws: '127.0.0.1:0', dataDir: folder, faults })).rejects.toThrow('nonsense');
		await (await startServer({ ws: '127.0.0.1:0', dataDir: folder })).close();
	});

	it.each(['0.0.0.0:0', '[::]:0', '192.0.2.1:0'])('beyond loopback (%s) only when told', async (ws) => {
		await expect(startServer({ ws })).rejects.toThrow('--allow-remote');
	});
});

describe('the command', () => {
	const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
	const run = (...argv: string[]) => {
		const child = spawn(process.execPath, [main, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
		const output = { out: '', err: '' };
		child.stdout.on('data', (chunk) => {
			output.out += chunk;
		});
		child.stderr.on('data', (chunk) => {
			output.err += chunk;
		});
		return { child, output, end: once(child, 'close') as Promise<[number | null, string | null]> };
	};

	it('prints one line of JSON when ready, and ends with status 0 at a signal', async () => {
		const argv = ['--json', '--data', 'memory', '--http', '127.0.0.1:0', '--tcp', '127.0.0.1:0'];
		const { child, output, end } = run(...argv, 'start', '--ws', '127.0.0.1:0');
		while (!output.out.includes('\n')) await once(child.stdout, 'data');
		child.kill('SIGTERM');
		expect(await end).toEqual([0, null]);
		expect(output.err).toBe('');
		expect(output.out.trimEnd().split('\n')).toHaveLength(1);
		const { ws, tcp, http, ...rest } = JSON.parse(output.out);
		expect(rest).toEqual({});
		expect(ws).toMatch(/^ws:\/\/127\.0\.0\.1:[1-9]\d*$/);
		expect(tcp).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
		expect(http).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
	});

	it('a port in use ends it with status 2 and the reason, and nothing on the standard output', async () => {
		const port = await taken();
		const { output, end } = run('start', '--ws', port.address, '--json');
		expect(await end).toEqual([2, null]);
		expect(output.out).toBe('');
		expect(output.err).toContain(port.address);
		await port.free();
	});
});
