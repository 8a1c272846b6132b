import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { frameSize, HEADER } from '../wire/frame.js';
import { Splitter } from '../wire/splitter.js';

/** Why the gateway ends a WebSocket. */
export const CloseCode = {
	goingAway: 1001,
	protocolError: 1002,
	unsupportedData: 1003,
	upstreamFailed: 1011,
} as const;

/** Bytes that may wait for a client before the upstream is no longer read. */
const HIGH_WATER = 1 << 20;
/** How long an upstream may take to end after its client went. */
const LINGER_MS = 5000;

export interface BridgeOptions {
	maxFrame: number;
	frames: { toUpstream: number; toClients: number };
	/** Both sides are gone. */
	ended: () => void;
}

/** One client and its own upstream connection. Frames pass unread; only their size field is looked at. */
export class Bridge {
	/** When a frame last passed, on the clock of `performance.now()`. */
	lastFrame = performance.now();
	readonly #webSocket: WebSocket;
	readonly #socket: Duplex;
	readonly #upstream: Socket;
	readonly #options: BridgeOptions;
	#clientGone = false;
	#upstreamGone = false;
	#linger: NodeJS.Timeout | undefined;

	constructor(webSocket: WebSocket, socket: Duplex, upstream: Socket, options: BridgeOptions) {
		this.#webSocket = webSocket;
		this.#socket = socket;
		this.#upstream = upstream;
		this.#options = options;
		this.#listenToClient();
		this.#listenToUpstream();
	}

	/** Ends both sides in an orderly way. */
	close(code: number, reason: string): void {
		this.#webSocket.close(code, reason);
		this.#endUpstream();
	}

	destroy(): void {
		this.#webSocket.terminate();
		this.#upstream.destroy();
	}

	#listenToClient(): void {
		const webSocket = this.#webSocket;
		const upstream = this.#upstream;
		webSocket.on('message', (data: Buffer, isBinary) => {
			if (webSocket.readyState !== webSocket.OPEN) return;
			if (!isBinary) return this.close(CloseCode.unsupportedData, 'binary messages only');
			if (data.length < HEADER || frameSize(data) !== data.length) {
				return this.close(CloseCode.protocolError, 'one message is one frame');
			}
			this.lastFrame = performance.now();
			this.#options.frames.toUpstream++;
			if (!upstream.write(data)) webSocket.pause();
		});
		upstream.on('drain', () => webSocket.resume());
		// Errors end in a close as well: a message above the cap, a frame that is none.
		webSocket.on('error', () => {});
		webSocket.on('close', () => {
			this.#clientGone = true;
			this.#endUpstream();
			// Nobody reads what still comes.
			upstream.resume();
			this.#checkEnded();
		});
	}

	#listenToUpstream(): void {
		const webSocket = this.#webSocket;
		const upstream = this.#upstream;
		let failure: string | undefined;
		const splitter = new Splitter(this.#options.maxFrame, (frame) => {
			if (webSocket.readyState !== webSocket.OPEN) return;
			this.lastFrame = performance.now();
			this.#options.frames.toClients++;
			webSocket.send(frame);
		});
		upstream.on('data', (chunk: Buffer) => {
			if (webSocket.readyState !== webSocket.OPEN) return;
			if (!splitter.push(chunk)) {
				failure = 'upstream sent no frame';
				upstream.destroy();
				return;
			}
			if (webSocket.bufferedAmount > HIGH_WATER) upstream.pause();
		});
		this.#socket.on('drain', () => {
			if (webSocket.bufferedAmount <= HIGH_WATER) upstream.resume();
		});
		upstream.on('error', (error) => {
			failure ??= `upstream failed: ${error.message}`;
		});
		const closed = (): void => {
			this.#upstreamGone = true;
			if (failure === undefined && splitter.midFrame) failure = 'upstream closed in the middle of a frame';
			if (failure === undefined) webSocket.close(CloseCode.goingAway, 'upstream closed');
			else webSocket.close(CloseCode.upstreamFailed, failure.slice(0, 120));
			// A client that is not read from would never see its own side of the close.
			webSocket.resume();
			this.#checkEnded();
		};
		// It may have gone while the client was let in.
		if (upstream.closed) queueMicrotask(closed);
		else upstream.on('close', closed);
	}

	/** What the client sent before it went still arrives. */
	#endUpstream(): void {
		if (this.#upstreamGone || this.#linger) return;
		this.#upstream.end();
		this.#linger = setTimeout(() => this.#upstream.destroy(), LINGER_MS);
	}

	#checkEnded(): void {
		if (!this.#clientGone || !this.#upstreamGone) return;
		clearTimeout(this.#linger);
		this.#options.ended();
	}
}
