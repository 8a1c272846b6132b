import { createServer as createRawServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { parseGatewayArguments } from '../../src/cli/gateway_arguments.js';
import {
	type DevServer,
	type Gateway,
	type GatewayOptions,
	startGateway,
	startServer,
} from '../../src/index.js';
import { Splitter } from '../../src/wire/splitter.js';
import { openWebSocket, type RawClient } from '../wire/client.js';
import { Driver, result, status } from '../wire/driver.js';
import * as build from '../wire/requests.js';
import { selfSigned } from './certificates.js';
import { frame, markOf, type Upstream, upstream } from './upstreams.js';

const running: { close(): unknown }[] = [];
afterEach(async () => {
	for (const one of running.splice(0).reverse()) await one.close();
});

async function gateway(to: string, options: Partial<GatewayOptions> = {}): Promise<Gateway> {
	const made = await startGateway({ ws: '127.0.0.1:0', upstream: to, ...options });
	running.push(made);
	return made;
}

async function server(): Promise<DevServer> {
	const made = await startServer({ tcp: '127.0.0.1:0', plane: false });
	running.push(made);
	return made;
}

async function behind(
	onSocket: Parameters<typeof upstream>[0],
	tls?: Parameters<typeof upstream>[1],
): Promise<Upstream> {
	const made = await upstream(onSocket, tls);
	running.push(made);
	return made;
}

const echo = (socket: import('node:net').Socket): void => void socket.pipe(socket);

async function session(client: RawClient): Promise<void> {
	const driver = new Driver(client);
	await driver.login();
	expect(result(await driver.createTopic('s', 't'))).toBe(0);
	expect(status(await driver.send('s', 't', 0, 'one', 'two'))).toBe(0);
	const polled = await driver.poll('s', 't');
	expect(polled.messages.map((one) => one.payload)).toEqual(['one', 'two']);
}

describe('frames', () => {
	it('of a whole session pass between a WebSocket client and a server that only has TCP', async () => {
		const { addresses } = await server();
		const through = await gateway(addresses.tcp!);
		await session(await openWebSocket(through.address));
		expect(through.status()).toMatchObject({ connections: 1, framesToUpstream: 5, framesToClients: 5 });
	});

	it('pass untouched and in order, however the stream is cut', async () => {
		const sizes = [256, 257, 4096, 1, 70_000, 300, 1_000_000].map((size) => Math.max(256, size));
		const cut = await behind((socket) => {
			const chunks: Buffer[] = [];
			socket.on('data', (chunk) => {
				chunks.push(chunk);
				const all = Buffer.concat(chunks);
				if (all.length < sizes.reduce((a, b) => a + b)) return;
				void (async () => {
					// One byte at a time over the headers, then odd pieces.
					for (let at = 0; at < 1200; at++) socket.write(all.subarray(at, at + 1));
					for (let at = 1200; at < all.length; at += 3001) socket.write(all.subarray(at, at + 3001));
				})();
			});
		});
		const client = await openWebSocket((await gateway(cut.address)).address);
		const frames = sizes.map((size, mark) => frame(size, mark));
		for (const one of frames) client.send(one);
		for (const one of frames) expect((await client.next())!.equals(one)).toBe(true);
	});

	it('of many clients do not mix', async () => {
		const { address } = await gateway((await behind(echo)).address);
		const clients = await Promise.all(Array.from({ length: 30 }, () => openWebSocket(address)));
		for (let round = 0; round < 20; round++) {
			clients.forEach((client, index) => {
				client.send(frame(256 + index, 1000 * index + round));
			});
		}
		for (const [index, client] of clients.entries()) {
			for (let round = 0; round < 20; round++) {
				expect(markOf((await client.next())!)).toBe(1000 * index + round);
			}
		}
	});

	it.each<[string, () => Buffer | string, number]>([
		['text', () => 'hello', 1003],
		['a short message', () => Buffer.alloc(255), 1002],
		['a message of another size than it says', () => Buffer.concat([frame(300), Buffer.alloc(1)]), 1002],
		['a message above the cap', () => frame(5001), 1009],
	])('that are none end the connection: %s', async (_, make, code) => {
		const up = await behind(echo);
		const client = await openWebSocket((await gateway(up.address, { maxFrameBytes: 5000 })).address);
		client.socket.send(make());
		expect((await client.closed).code).toBe(code);
		await expect.poll(() => up.sockets[0]!.destroyed).toBe(true);
	});

	it.each<[string, Buffer]>([
		['above the cap', frame(5001)],
		['below a header', frame(300).fill(1, 48, 49).fill(0, 49, 52)],
	])('of the server with a size %s end the connection and are not passed on', async (_, bytes) => {
		const up = await behind((socket) => socket.write(bytes));
		const client = await openWebSocket((await gateway(up.address, { maxFrameBytes: 5000 })).address);
		expect(await client.next()).toBeUndefined();
		expect((await client.closed).code).toBe(1011);
	});
});

describe('a page', () => {
	it('of an allowed origin gets in, of another or none it does not; a client that is no page does', async () => {
		const { address } = await gateway((await behind(echo)).address, { origins: ['http://localhost:*'] });
		const from = (headers: Record<string, string>) => openWebSocket(address, { headers });
		(await from({ Origin: 'http://localhost:5173' })).close();
		(await from({})).close();
		await expect(from({ Origin: 'https://elsewhere.example' })).rejects.toThrow('403');
		await expect(from({ Origin: 'null' })).rejects.toThrow('403');
		await expect(from({ Host: 'rebound.example' })).rejects.toThrow('403');
	});
});

describe('caps', () => {
	it('on connections refuse the next client until one has left', async () => {
		const through = await gateway((await behind(echo)).address, { maxConnections: 2 });
		const first = await openWebSocket(through.address);
		await openWebSocket(through.address);
		await expect(openWebSocket(through.address)).rejects.toThrow('503');
		first.close();
		await expect.poll(() => through.status().connections).toBe(1);
		await openWebSocket(through.address);
	});

	it('on idle time close a silent connection and leave a busy one', async () => {
		const through = await gateway((await behind(echo)).address, { idleMs: 150 });
		const silent = await openWebSocket(through.address);
		const busy = await openWebSocket(through.address);
		let gone = false;
		void silent.closed.then(() => {
			gone = true;
		});
		for (let n = 0; n < 20 && !gone; n++) {
			await busy.call(frame(256, n));
			await sleep(30);
		}
		expect((await silent.closed).code).toBe(1001);
		expect(markOf(await busy.call(frame(256, 99)))).toBe(99);
		expect(through.status().connections).toBe(1);
	});
});

describe('an upstream', () => {
	it('that is down refuses the handshake with 502, and works once it is up', async () => {
		const placeholder = createRawServer();
		const port = await new Promise<number>((done) =>
			placeholder.listen(0, '127.0.0.1', () => done((placeholder.address() as { port: number }).port)),
		);
		await new Promise((done) => placeholder.close(done));
		const through = await gateway(`127.0.0.1:${port}`);
		await expect(openWebSocket(through.address)).rejects.toThrow('502');
		expect(through.status()).toMatchObject({ connections: 0, dialling: 0 });
		const late = await startServer({ tcp: `127.0.0.1:${port}`, plane: false });
		running.push(late);
		await session(await openWebSocket(through.address));
	});

	it('that does not answer refuses the handshake with 504 in time', async () => {
		const certificate = selfSigned();
		// It accepts and never says a word: the TLS handshake does not end.
		const mute = await behind(() => {});
		const through = await gateway(mute.address, {
			upstreamTls: { ca: certificate.cert },
			connectTimeoutMs: 100,
		});
		await expect(openWebSocket(through.address)).rejects.toThrow('504');
		const abandoned = new WebSocket(through.address);
		abandoned.on('error', () => {});
		await expect.poll(() => through.status().dialling).toBe(1);
		abandoned.terminate();
		await expect.poll(() => through.status().dialling).toBe(0);
	});

	it('that closes in the middle of a frame ends the client without half a frame', async () => {
		const half = await behind((socket) => {
			socket.once('data', () => {
				socket.write(frame(400, 1));
				socket.end(frame(1000, 2).subarray(0, 700));
			});
		});
		const client = await openWebSocket((await gateway(half.address)).address);
		client.send(frame(256));
		expect(markOf((await client.next())!)).toBe(1);
		expect(await client.next()).toBeUndefined();
		expect((await client.closed).code).toBe(1011);
	});

	it('that closes between frames has its last frames delivered first', async () => {
		const up = await behind((socket) => {
			socket.once('data', () => {
				for (let mark = 1; mark <= 50; mark++) socket.write(frame(100_000, mark));
				socket.end();
			});
		});
		const client = await openWebSocket((await gateway(up.address)).address);
		client.send(frame(256));
		for (let mark = 1; mark <= 50; mark++) expect(markOf((await client.next())!)).toBe(mark);
		expect((await client.closed).code).toBe(1001);
	});

	it('gets what its client sent before it went', async () => {
		let got = 0;
		const up = await behind((socket) =>
			socket.on('data', (chunk) => {
				got += chunk.length;
			}),
		);
		const through = await gateway(up.address);
		const client = await openWebSocket(through.address);
		for (let n = 0; n < 20; n++) client.send(frame(200_000, n));
		client.socket.close();
		await client.closed;
		await expect.poll(() => got).toBe(4_000_000);
		await expect.poll(() => through.status().connections).toBe(0);
	});
});

describe('backpressure', () => {
	const FRAME = 64 << 10;

	it('stops reading a server whose client does not read', async () => {
		let written = 0;
		const flood = await behind((socket) => {
			const more = (): void => {
				while (!socket.destroyed) {
					written += FRAME;
					if (!socket.write(frame(FRAME, written / FRAME))) break;
				}
			};
			socket.on('drain', more);
			more();
		});
		const through = await gateway(flood.address);
		const client = await openWebSocket(through.address);
		client.socket.pause();
		await expect
			.poll(
				async () => {
					const before = written;
					await sleep(200);
					return written === before;
				},
				{ timeout: 10_000 },
			)
			.toBe(true);
		// What lies in the sockets' and the gateway's buffers, not everything that could be sent.
		expect(written).toBeLessThan(64 << 20);
		const stopped = written;
		client.socket.resume();
		await expect.poll(() => written).toBeGreaterThan(stopped + (16 << 20));
		for (let mark = 1; mark <= 100; mark++) expect(markOf((await client.next())!)).toBe(mark);
	});

	it('stops reading a client whose server does not read, and loses nothing', async () => {
		const slow = await behind((socket) => socket.pause());
		const through = await gateway(slow.address);
		const client = await openWebSocket(through.address);
		const total = 600;
		for (let mark = 0; mark < total; mark++) client.send(frame(FRAME, mark));
		await sleep(500);
		const passed = through.status().framesToUpstream;
		expect(passed).toBeLessThan(total / 2);
		await sleep(200);
		expect(through.status().framesToUpstream).toBe(passed);
		let next = 0;
		let inOrder = true;
		const frames = new Splitter(FRAME, (bytes) => {
			inOrder &&= markOf(bytes) === next++;
		});
		const [socket] = slow.sockets;
		socket!.on('data', (chunk) => frames.push(chunk));
		socket!.resume();
		await expect.poll(() => next, { timeout: 10_000 }).toBe(total);
		expect(inOrder).toBe(true);
	});
});

describe('TLS', () => {
	it('on both sides carries a session', async () => {
		const { cert, key } = selfSigned();
		const { addresses } = await server();
		const [host, port] = addresses.tcp!.split(':');
		const { connect } = await import('node:net');
		const secure = await behind(
			(socket) => {
				const inner = connect(Number(port), host);
				inner.on('error', () => socket.destroy());
				socket.pipe(inner).pipe(socket);
			},
			{ cert, key },
		);
		const through = await gateway(secure.address, { cert, key, upstreamTls: { ca: cert } });
		expect(through.address).toMatch(/^wss:/);
		const socket = new WebSocket(through.address, { ca: cert, perMessageDeflate: false });
		const frames: Buffer[] = [];
		socket.on('message', (data: Buffer) => frames.push(data));
		await new Promise((done, fail) => socket.once('open', done).once('error', fail));
		const login = build.login();
		socket.send(login);
		await expect.poll(() => frames.length).toBe(1);
		expect([frames[0]![60], status(frames[0]!)]).toEqual([8, 0]);
		socket.terminate();
	});

	it('to an upstream with a certificate of another authority is refused', async () => {
		const { cert, key } = selfSigned();
		const secure = await behind(echo, { cert, key });
		const other = await gateway(secure.address, { upstreamTls: { ca: selfSigned().cert } });
		await expect(openWebSocket(other.address)).rejects.toThrow('502');
		const plain = await gateway(secure.address, { upstreamTls: true });
		await expect(openWebSocket(plain.address)).rejects.toThrow('502');
	});
});

describe('the command line', () => {
	it('gives the options, and refuses what is missing or does not belong together', () => {
		const read = (path: string) => Buffer.from(`<${path}>`);
		const parsed = parseGatewayArguments(
			[
				...['--ws', ':0', '--upstream', 'srv:8090', '--origin', 'https://a', '--origin', 'https://b'],
				...[
					'--upstream-tls',
					'--ca',
					'ca.pem',
					'--cert',
					'c.pem',
					'--key',
					'k.pem',
					'--idle-ms',
					'5',
					'--json',
				],
			],
			read,
		);
		expect(parsed).toEqual({
			json: true,
			options: {
				ws: ':0',
				upstream: 'srv:8090',
				origins: ['https://a', 'https://b'],
				upstreamTls: { ca: Buffer.from('<ca.pem>') },
				cert: Buffer.from('<c.pem>'),
				key: Buffer.from('<k.pem>'),
				idleMs: 5,
			},
		});
		expect(() => parseGatewayArguments(['--ws', ':0'], read)).toThrow('--upstream');
		expect(() => parseGatewayArguments(['--ws', ':0', '--upstream', 'a:1', '--ca', 'x'], read)).toThrow(
			'--ca',
		);
	});

	it('a certificate without its key, a listener beyond loopback and a bad address are refused', async () => {
		const base = { ws: '127.0.0.1:0', upstream: '127.0.0.1:1' };
		await expect(startGateway({ ...base, cert: 'x' })).rejects.toThrow('key');
		await expect(startGateway({ ...base, ws: '0.0.0.0:0' })).rejects.toThrow('loopback');
		await expect(startGateway({ ...base, upstream: 'nowhere' })).rejects.toThrow('host:port');
	});
});
