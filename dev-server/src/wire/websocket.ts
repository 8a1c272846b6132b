import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Access } from './access.js';
import { frameSize, HEADER, MAX_FRAME } from './frame.js';
import type { Accepted } from './tcp.js';
import { HIGH_WATER, type Transport } from './transport.js';
import { FrameLimit } from './websocket_limit.js';

const HANDSHAKE_MS = 10_000;
const MAX_WEBSOCKET_FRAME = 16 << 20;

class WebSocketTransport implements Transport {
	readonly kind = 4;

	constructor(
		readonly webSocket: WebSocket,
		readonly socket: Duplex,
		readonly address: string,
	) {}

	send(frame: Buffer): void {
		this.webSocket.send(frame);
	}

	close(): void {
		this.webSocket.close();
	}

	destroy(): void {
		this.socket.destroy();
	}

	/** Announces the whole message and sends only its beginning, which the library would never do. */
	sendPart(frame: Buffer, bytes: number): void {
		const head = Buffer.alloc(10);
		head[0] = 0x82;
		head[1] = 127;
		head.writeBigUInt64BE(BigInt(frame.length), 2);
		this.socket.write(Buffer.concat([head, frame.subarray(0, bytes)]), () => this.socket.destroy());
	}

	sendText(text: string): void {
		this.webSocket.send(text);
	}

	pause(): void {
		this.webSocket.pause();
	}

	resume(): void {
		this.webSocket.resume();
	}

	drained(): Promise<void> | undefined {
		if (this.webSocket.bufferedAmount < HIGH_WATER) return undefined;
		return new Promise((done) => {
			const finish = (): void => {
				this.socket.off('drain', finish).off('close', finish);
				done();
			};
			this.socket.on('drain', finish).on('close', finish);
		});
	}
}

/** Listens for WebSocket clients on any path: binary messages of one frame each. */
export function webSocketListener(
	access: Access,
	accept: (transport: Transport) => Accepted | undefined,
): Server {
	const server = createServer({ headersTimeout: HANDSHAKE_MS, requestTimeout: HANDSHAKE_MS });
	const upgrades = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		maxPayload: MAX_FRAME,
		// The library would pick the first one offered; this server never picks any.
		handleProtocols: () => false,
	});
	server.on('request', (request) => request.socket.destroy());
	server.on('upgrade', (request, socket, head) => {
		socket.on('error', () => socket.destroy());
		const refusal = access.refusal(request);
		if (refusal) {
			socket.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
			return;
		}
		const { remoteAddress, remotePort } = request.socket;
		upgrades.handleUpgrade(request, socket, head, (webSocket) => {
			const transport = new WebSocketTransport(webSocket, socket, `${remoteAddress}:${remotePort}`);
			const connection = accept(transport);
			if (!connection) {
				socket.destroy();
				return;
			}
			const limit = new FrameLimit(MAX_WEBSOCKET_FRAME);
			const check = (chunk: Buffer): void => {
				if (!limit.push(chunk)) webSocket.close();
			};
			check(head);
			socket.prependListener('data', check);
			webSocket.on('error', () => {});
			webSocket.on('close', () => connection.closed());
			webSocket.on('message', (data: Buffer, isBinary) => {
				if (webSocket.readyState !== webSocket.OPEN) return;
				if (!isBinary || data.length < HEADER || frameSize(data) !== data.length) webSocket.close();
				else connection.receive(data);
			});
		});
	});
	return server;
}
