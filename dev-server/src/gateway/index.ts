import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { Access } from '../wire/access.js';
import { type Endpoint, hostText, parseEndpoint, parseListener } from '../wire/endpoint.js';
import { HEADER, MAX_FRAME } from '../wire/frame.js';
import { Bridge, CloseCode } from './bridge.js';
import { DialError, dial } from './upstream.js';

export interface GatewayOptions {
	/** Where WebSocket clients come in: `host:port`; port 0 takes a free one. */
	ws: string;
	/** The server behind it, which speaks TCP only: `host:port`. */
	upstream: string;
	/** Pages that may connect; `http://localhost:*` allows any port. A client that is no page needs none. */
	origins?: string[];
	/** Allowed `Host` names besides loopback. */
	hosts?: string[];
	/** Listen beyond loopback and take any `Host`. */
	allowRemote?: boolean;
	/** PEM of the certificate chain and its key: clients connect by `wss`. */
	cert?: string | Buffer;
	key?: string | Buffer;
	/** Speak TLS to the upstream; `ca` is the PEM of the authority to trust instead of the system's. */
	upstreamTls?: boolean | { ca?: string | Buffer };
	/** Clients at once; further ones are refused with 503. 1000 by default. */
	maxConnections?: number;
	/** Bytes of the largest frame in either direction; 64 MiB by default. */
	maxFrameBytes?: number;
	/** A connection without a frame in either direction for so long is closed. 5 minutes by default. */
	idleMs?: number;
	/** How long the upstream may take to accept a connection. 10 s by default. */
	connectTimeoutMs?: number;
}

export interface GatewayStatus {
	connections: number;
	/** Connections that wait for the upstream to accept them. */
	dialling: number;
	framesToUpstream: number;
	framesToClients: number;
}

export interface Gateway {
	/** `ws://host:port`, or `wss://…` with a certificate. */
	readonly address: string;
	status(): GatewayStatus;
	/** Ends every connection. */
	close(): Promise<void>;
}

const HANDSHAKE_MS = 10_000;

/** Carries frames between WebSocket clients and a server that only speaks TCP. It is listening when this resolves. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
	const listen = parseListener(options.ws, options.allowRemote === true)!;
	if ((options.cert === undefined) !== (options.key === undefined)) {
		throw new Error('a certificate and its key belong together');
	}
	const maxFrame = options.maxFrameBytes ?? MAX_FRAME;
	if (!(maxFrame >= HEADER)) throw new Error(`the largest frame cannot be below ${HEADER} bytes`);
	const timing = { headersTimeout: HANDSHAKE_MS, requestTimeout: HANDSHAKE_MS };
	const server = options.cert
		? createTlsServer({ ...timing, cert: options.cert, key: options.key })
		: createServer(timing);
	const doors = new Doors(server, parseEndpoint(options.upstream), options, maxFrame);
	const port = await new Promise<number>((done, fail) => {
		server.once('error', fail);
		server.listen(listen.port, listen.host, () => done((server.address() as AddressInfo).port));
	});
	return {
		address: `${options.cert ? 'wss' : 'ws'}://${hostText(listen)}:${port}`,
		status: () => doors.status(),
		close: () => doors.close(),
	};
}

/** Lets clients in, or tells them why not. */
class Doors {
	readonly #server: Server;
	readonly #upstream: Endpoint;
	readonly #options: GatewayOptions;
	readonly #access: Access;
	readonly #upgrades: WebSocketServer;
	readonly #bridges = new Set<Bridge>();
	readonly #dialling = new Set<AbortController>();
	readonly #idleMs: number;
	readonly #sweep: NodeJS.Timeout;
	readonly #frames = { toUpstream: 0, toClients: 0 };

	constructor(server: Server, upstream: Endpoint, options: GatewayOptions, maxFrame: number) {
		this.#server = server;
		this.#upstream = upstream;
		this.#options = options;
		this.#access = new Access({
			origins: options.origins ?? [],
			hosts: options.hosts ?? [],
			anyHost: options.allowRemote === true,
		});
		this.#upgrades = new WebSocketServer({
			noServer: true,
			perMessageDeflate: false,
			maxPayload: maxFrame,
			handleProtocols: () => false,
		});
		this.#idleMs = options.idleMs ?? 300_000;
		this.#sweep = setInterval(() => this.#closeIdle(), Math.max(10, this.#idleMs / 10));
		this.#sweep.unref();
		server.on('request', (request) => request.socket.destroy());
		server.on('tlsClientError', (_, socket) => socket.destroy());
		server.on('upgrade', (request, socket, head) => {
			socket.on('error', () => socket.destroy());
			this.#enter(request, socket, head).catch((error: unknown) => {
				console.error('gateway connection failed:', error);
				socket.destroy();
			});
		});
	}

	status(): GatewayStatus {
		return {
			connections: this.#bridges.size,
			dialling: this.#dialling.size,
			framesToUpstream: this.#frames.toUpstream,
			framesToClients: this.#frames.toClients,
		};
	}

	async close(): Promise<void> {
		clearInterval(this.#sweep);
		for (const dialling of this.#dialling) dialling.abort();
		for (const bridge of this.#bridges) bridge.destroy();
		this.#server.closeAllConnections();
		await new Promise<void>((done) => this.#server.close(() => done()));
	}

	/** The upstream is dialled before the handshake is answered: a client that gets in can be served. */
	async #enter(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		if (this.#access.refusal(request)) return refuse(socket, 403, 'Forbidden');
		const open = this.#bridges.size + this.#dialling.size;
		if (open >= (this.#options.maxConnections ?? 1000)) return refuse(socket, 503, 'Service Unavailable');
		const abort = new AbortController();
		const giveUp = (): void => abort.abort();
		this.#dialling.add(abort);
		socket.once('close', giveUp);
		let upstream: Socket;
		try {
			upstream = await dial(this.#upstream, {
				tls: this.#options.upstreamTls ?? false,
				timeoutMs: this.#options.connectTimeoutMs ?? 10_000,
				signal: abort.signal,
			});
		} catch (error) {
			if (!(error instanceof DialError)) throw error;
			if (error.timedOut) return refuse(socket, 504, 'Gateway Timeout');
			return refuse(socket, 502, 'Bad Gateway');
		} finally {
			this.#dialling.delete(abort);
			socket.off('close', giveUp);
		}
		if (socket.destroyed) {
			upstream.destroy();
			return;
		}
		// A handshake that is refused from here on ends the socket without giving a WebSocket.
		const abandoned = (): void => {
			upstream.destroy();
		};
		socket.once('close', abandoned);
		this.#upgrades.handleUpgrade(request, socket, head, (webSocket) => {
			socket.off('close', abandoned);
			const bridge = new Bridge(webSocket, socket, upstream, {
				maxFrame: this.#upgrades.options.maxPayload!,
				frames: this.#frames,
				ended: () => this.#bridges.delete(bridge),
			});
			this.#bridges.add(bridge);
		});
	}

	#closeIdle(): void {
		const limit = performance.now() - this.#idleMs;
		for (const bridge of this.#bridges) {
			if (bridge.lastFrame < limit) bridge.close(CloseCode.goingAway, 'idle');
		}
	}
}

function refuse(socket: Duplex, status: number, text: string): void {
	socket.end(`HTTP/1.1 ${status} ${text}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
