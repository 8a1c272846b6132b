import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { socketOpener } from '../../../js/platform/socket.node.js';

let server: WebSocketServer;
let url: string;

beforeEach(async () => {
	server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
	await once(server, 'listening');
	url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => {
	for (const client of server.clients) client.terminate();
	server.close();
});

function recorder() {
	const seen: string[] = [];
	let tell = (): void => {};
	const handlers = {
		open: () => note('open'),
		frame: (bytes: Uint8Array) => note(`frame ${[...bytes]}`),
		text: () => note('text'),
		end: (code: number | undefined) => note(`end ${code}`),
	};
	function note(what: string): void {
		seen.push(what);
		tell();
	}
	const until = async (count: number): Promise<void> => {
		while (seen.length < count) {
			await new Promise<void>((resolve) => {
				tell = resolve;
			});
		}
	};
	return { seen, handlers, until };
}

describe('a socket in Node', () => {
	it('carries binary frames both ways, offers no subprotocol, and tells of texts and ends', async () => {
		const { seen, handlers, until } = recorder();
		const open = await socketOpener();
		const connection = once(server, 'connection') as Promise<
			[WebSocket, { headers: Record<string, string> }]
		>;
		const socket = open(url, handlers);
		const [peer, request] = await connection;
		expect(request.headers['sec-websocket-protocol']).toBeUndefined();
		await until(1);
		const message = once(peer, 'message');
		socket.send(Uint8Array.of(1, 2));
		expect([...((await message)[0] as Buffer)]).toEqual([1, 2]);
		peer.send(Uint8Array.of(3));
		peer.send('hello');
		await until(3);
		peer.close();
		await until(4);
		expect(seen).toEqual(['open', 'frame 3', 'text', 'end 1005']);
	});

	it('says nothing any more once it was closed, even while it was connecting', async () => {
		const { seen, handlers } = recorder();
		const open = await socketOpener();
		open(url, handlers).close();
		open('ws://127.0.0.1:1/', handlers).close();
		await new Promise((resolve) => setTimeout(resolve, 100));
		expect(seen).toEqual([]);
	});

	it('one that cannot be opened ends once', async () => {
		const { seen, handlers, until } = recorder();
		(await socketOpener())('ws://127.0.0.1:1/', handlers);
		await until(1);
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(seen).toEqual(['end 1006']);
	});

	it('what is no address is a ConfigError', async () => {
		const open = await socketOpener();
		expect(() => open('nonsense', recorder().handlers)).toThrow(/address/);
	});
});
