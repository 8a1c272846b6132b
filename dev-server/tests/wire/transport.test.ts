import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { FrameLimit } from '../../src/wire/websocket_limit.js';
import { openTcp, openWebSocket } from './client.js';
import { Driver, status } from './driver.js';
import * as build from './requests.js';

let server: DevServer;
async function start(options: Parameters<typeof startServer>[0] = {}): Promise<void> {
	const listeners = { ws: '127.0.0.1:0', tcp: '127.0.0.1:0', http: '127.0.0.1:0' };
	server = await startServer({ ...listeners, plane: false, ...options });
}
afterEach(() => server?.close());

const ping = (): Buffer => build.frame(2, 1, Buffer.alloc(0), { request: 0n, session: 0n });

describe('a WebSocket', () => {
	it('opens on any path', async () => {
		await start();
		const client = await openWebSocket(`${server.addresses.ws}/any/path?x=1`);
		expect(status(await client.call(ping()))).toBe(0);
	});

	it('that offers a subprotocol gets none', async () => {
		await start();
		await expect(openWebSocket(server.addresses.ws!, { protocols: ['iggy'] })).rejects.toThrow(
			/subprotocol/i,
		);
	});

	const broken: [string, () => Buffer | string][] = [
		['text', () => 'hello'],
		['a short message', () => Buffer.alloc(255)],
		['an empty message', () => Buffer.alloc(0)],
		['trailing bytes', () => Buffer.concat([ping(), Buffer.alloc(1)])],
		['two frames in one', () => Buffer.concat([ping(), ping()])],
		['a wrong size', () => withSize(ping(), 300)],
		['an unknown command byte', () => withByte(ping(), 60, 99)],
	];
	it.each(broken)('is closed after %s', async (_, make) => {
		await start();
		const client = await openWebSocket(server.addresses.ws!);
		client.socket.send(make());
		expect((await client.closed).code).toBe(1005);
	});

	it.each([0, 3, 8])('ignores frames of command %i', async (command) => {
		await start();
		const client = await openWebSocket(server.addresses.ws!);
		client.send(withByte(ping(), 60, command));
		expect(await client.next(100)).toBeUndefined();
		expect(status(await client.call(ping()))).toBe(0);
	});

	it('takes a message in fragments, each under 16 MiB, and is closed after a larger one', async () => {
		await start();
		const big = build.frame(2, 1, Buffer.alloc(18 << 20), { request: 0n, session: 0n });
		const client = await openWebSocket(server.addresses.ws!);
		client.socket.send(big.subarray(0, 10 << 20), { fin: false });
		client.socket.send(big.subarray(10 << 20), { fin: true });
		expect(status((await client.next(5000))!)).toBe(0);
		client.socket.send(big);
		await client.closed;
	});

	it('dropped by plain HTTP gives no answer', async () => {
		await start();
		const [, port] = server.addresses.ws!.replace('ws://', '').split(':');
		await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
	});
});

describe('the frame limit', () => {
	it('finds a large frame wherever its header is cut', () => {
		const small = Buffer.from([0x82, 0x82, 1, 2, 3, 4, 9, 9]);
		const large = Buffer.concat([
			Buffer.from([0x82, 0xff]),
			Buffer.alloc(6),
			Buffer.from([1, 0]),
			Buffer.alloc(4),
		]);
		const bytes = Buffer.concat([small, large, Buffer.alloc(300)]);
		for (let cut = 0; cut < small.length + large.length; cut++) {
			for (const [limit, expected] of [
				[255, false],
				[256, true],
			] as const) {
				const watch = new FrameLimit(limit);
				const verdicts = [watch.push(bytes.subarray(0, cut)), watch.push(bytes.subarray(cut))];
				expect(verdicts.every(Boolean)).toBe(expected);
			}
		}
	});
});

describe('TCP', () => {
	it('takes frames cut and joined in any way', async () => {
		await start();
		const client = await openTcp(server.addresses.tcp!);
		const frames = Buffer.concat([build.login(), ping(), ping(), ping()]);
		for (const step of [1, 7, 100, 255, 256, 257, 5000]) {
			for (let at = 0; at < frames.length; at += step) {
				client.socket.write(frames.subarray(at, at + step));
				if (step < 300) await new Promise(setImmediate);
			}
			for (let index = 0; index < 4; index++) expect(await client.next()).toBeDefined();
		}
	});

	it.each([0, 255, (64 << 20) + 1, 0xffffffff])('is closed after a size of %i', async (size) => {
		await start();
		const client = await openTcp(server.addresses.tcp!);
		client.send(withSize(ping(), size));
		await client.closed;
	});
});

describe('access', () => {
	const open = (headers: Record<string, string>): Promise<unknown> =>
		openWebSocket(server.addresses.ws!, { headers });

	it('is for pages of this server and for clients that are no browsers', async () => {
		await start();
		const port = server.addresses.http!.split(':').at(-1);
		await open({});
		await open({ Origin: `http://127.0.0.1:${port}` });
		await open({ Origin: `http://localhost:${port}` });
		for (const origin of ['null', 'http://evil.example', 'http://127.0.0.1:1', `https://localhost:${port}`]) {
			await expect(open({ Origin: origin }), origin).rejects.toThrow('403');
		}
	});

	it('is extended by allowed origins, with any port where asked', async () => {
		await start({ origins: ['https://app.example', 'http://localhost:*'] });
		await open({ Origin: 'https://app.example' });
		await open({ Origin: 'http://localhost:5173' });
		await expect(open({ Origin: 'https://app.example:444' })).rejects.toThrow('403');
		await expect(open({ Origin: 'http://localhost.evil.example:5173' })).rejects.toThrow('403');
	});

	it('is refused to a Host that is not loopback, unless it is allowed', async () => {
		await start({ hosts: ['devbox'] });
		await open({ Host: 'localhost:1' });
		await open({ Host: '[::1]:1' });
		await open({ Host: 'devbox:1' });
		await expect(open({ Host: 'rebound.example' })).rejects.toThrow('403');
		await expect(open({ Host: '127.0.0.1.example' })).rejects.toThrow('403');
	});

	it('beyond loopback needs to be asked for', async () => {
		await expect(startServer({ ws: '0.0.0.0:0', plane: false })).rejects.toThrow('--allow-remote');
		await start({ ws: '0.0.0.0:0', allowRemote: true });
		await open({ Host: 'anything.example' });
	});
});

describe('HTTP', () => {
	const post = (headers: Record<string, string>, body: string): Promise<number> =>
		new Promise((done, fail) => {
			const call = httpRequest(`${server.addresses.http}/faults`, { method: 'POST', headers }, (reply) => {
				reply.resume();
				done(reply.statusCode!);
			});
			call.on('error', fail);
			call.end(body);
		});

	it('takes faults as JSON from allowed origins only', async () => {
		await start();
		const json = { 'Content-Type': 'application/json' };
		expect(await post(json, '{"kind":"refuse","ms":0}')).toBe(200);
		expect(await post({ ...json, Origin: server.addresses.http! }, '[{"kind":"clear"}]')).toBe(200);
		expect(await post({ ...json, Origin: 'http://evil.example' }, '{"kind":"clear"}')).toBe(403);
		expect(await post({ ...json, Origin: 'null' }, '{"kind":"clear"}')).toBe(403);
		expect(await post({ ...json, Host: 'rebound.example' }, '{"kind":"clear"}')).toBe(403);
		expect(await post({ 'Content-Type': 'text/plain' }, '{"kind":"clear"}')).toBe(415);
		expect(await post(json, 'not json')).toBe(400);
		expect(await post(json, '{"kind":"no such fault"}')).toBe(422);
		expect(await post(json, '{"kind":"drop","comand":100}')).toBe(422);
	});

	it('lets pages of allowed origins read answers, and no others', async () => {
		await start({ origins: ['http://localhost:*'] });
		const ask = (origin: string, method: string): Promise<Response> =>
			fetch(`${server.addresses.http}/faults`, { method, headers: { Origin: origin } });
		const allowed = await ask('http://localhost:5173', 'OPTIONS');
		expect(allowed.headers.get('access-control-allow-origin')).toBe('http://localhost:5173');
		const refused = await ask('http://evil.example', 'OPTIONS');
		expect(refused.headers.get('access-control-allow-origin')).toBeNull();
	});

	it('serves the page with its types and a strict policy, and nothing above it', async () => {
		const { mkdtempSync, mkdirSync, symlinkSync, writeFileSync } = await import('node:fs');
		const root = mkdtempSync('/tmp/tidemark-http-');
		mkdirSync(`${root}/page`);
		writeFileSync(`${root}/secret.txt`, 'secret');
		writeFileSync(`${root}/page/index.html`, '<p>hello');
		writeFileSync(`${root}/page/core.wasm`, 'wasm');
		symlinkSync(`${root}/secret.txt`, `${root}/page/link.txt`);
		await start({ staticDir: `${root}/page` });
		const get = (path: string): Promise<Response> => fetch(`${server.addresses.http}${path}`);
		const page = await get('/');
		expect(await page.text()).toBe('<p>hello');
		const policy = page.headers.get('content-security-policy')!;
		expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval';");
		expect(policy).toContain(server.addresses.ws!);
		expect(policy).not.toContain('unsafe-inline');
		expect((await get('/core.wasm')).headers.get('content-type')).toBe('application/wasm');
		for (const path of ['/..%2fsecret.txt', '/%2e%2e/secret.txt', '/link.txt', '/missing', '/%00']) {
			expect((await get(path)).status, path).toBe(404);
		}
		expect(await (await get('/tidemark-dev.json')).json()).toMatchObject({ ws: server.addresses.ws });
	});
});

it('one node with the bound ports is reported', async () => {
	await start();
	const driver = new Driver(await openWebSocket(server.addresses.ws!));
	await driver.login();
	const roster = await driver.read(12);
	expect(roster.readUInt32LE(256 + 4 + 11)).toBe(1);
	const port = Number(server.addresses.ws!.split(':').at(-1));
	expect(roster.readUInt16LE(roster.length - 4)).toBe(port);
});

function withSize(frame: Buffer, size: number): Buffer {
	frame.writeUInt32LE(size, 48);
	return frame;
}

function withByte(frame: Buffer, at: number, value: number): Buffer {
	frame[at] = value;
	return frame;
}
