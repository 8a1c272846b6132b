import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/** One answer of the server, with what it answers. */
export interface Exchange {
	/** Operation byte of the request; 1 is the login. */
	operation: number;
	/** Command code of reads and managed calls (operation 2), else 0. */
	code: number;
	/** 0 for the login. */
	request: bigint;
	reply: Buffer;
	/** Answers seen on this connection before this one. */
	index: number;
	/** Connections accepted before this one. */
	connection: number;
}

/** What the client gets in place of an answer: these messages (text where it is a string), or none at all. */
export type Instead = readonly (Buffer | string)[];

/**
 * Stands between a client and the development server, message by message, and can put any message in place of an
 * answer: what a broken or hostile server might send.
 */
export class FrameProxy {
	/** Returns what is sent instead, or undefined to leave the answer as it is. */
	tamper: ((exchange: Exchange) => Instead | undefined) | undefined;
	/** Changes what the client sends. */
	alter: ((frame: Buffer) => void) | undefined;
	/** Answers that were replaced. */
	tampered = 0;
	accepted = 0;
	private readonly sockets = new Set<WebSocket>();

	private constructor(
		private readonly http: Server,
		private readonly target: string,
	) {
		const server = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: 128 << 20 });
		server.on('connection', (client) => this.accept(client));
	}

	static async start(target: string): Promise<FrameProxy> {
		const http = createServer();
		const proxy = new FrameProxy(http, target);
		await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
		return proxy;
	}

	get ws(): string {
		return `ws://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
	}
	/** Clients connected right now. */
	get open(): number {
		return this.sockets.size;
	}
	/** Sends messages that nobody asked for. */
	push(...messages: (Buffer | string)[]): void {
		for (const socket of this.sockets) for (const message of messages) socket.send(message);
	}
	cutAll(): void {
		for (const socket of this.sockets) socket.terminate();
	}
	async close(): Promise<void> {
		this.cutAll();
		await new Promise<void>((resolve) => this.http.close(() => resolve()));
	}

	private accept(client: WebSocket): void {
		const connection = this.accepted++;
		this.sockets.add(client);
		const upstream = new WebSocket(this.target, { perMessageDeflate: false, maxPayload: 128 << 20 });
		const waiting: Buffer[] = [];
		const asked = new Map<bigint, { operation: number; code: number }>();
		let index = 0;
		client.on('message', (frame: Buffer) => {
			this.alter?.(frame);
			asked.set(frame.readBigUInt64LE(168), { operation: frame[176]!, code: frame.readUInt32LE(196) });
			if (upstream.readyState === WebSocket.OPEN) upstream.send(frame);
			else waiting.push(frame);
		});
		upstream.on('open', () => {
			for (const frame of waiting) upstream.send(frame);
		});
		upstream.on('message', (data: Buffer, isBinary) => {
			if (client.readyState !== WebSocket.OPEN) return;
			const request = isBinary && data[60] === 8 ? data.readBigUInt64LE(200) : 0n;
			const of = asked.get(request) ?? { operation: 0, code: 0 };
			const instead = this.tamper?.({ ...of, request, reply: data, index: index++, connection });
			if (instead === undefined) return client.send(data, { binary: isBinary });
			this.tampered += 1;
			for (const message of instead) client.send(message);
		});
		for (const [socket, other] of [
			[client, upstream],
			[upstream, client],
		] as const) {
			socket.on('error', () => {});
			socket.on('close', () => {
				this.sockets.delete(client);
				other.terminate();
			});
		}
	}
}

/** A frame of the server, made from its parts. `size` is what the header claims. */
export function frame(parts: {
	command: number;
	request?: bigint;
	operation?: number;
	status?: number;
	body?: Uint8Array;
	size?: number;
}): Buffer {
	const body = parts.body ?? new Uint8Array();
	const made = Buffer.alloc(256 + body.length);
	made.set(body, 256);
	made.writeUInt32LE(parts.size ?? made.length, 48);
	made[60] = parts.command;
	made.writeBigUInt64LE(parts.request ?? 0n, 200);
	made[208] = parts.operation ?? 0;
	made.writeUInt32LE(parts.status ?? 0, 216);
	return made;
}

export function eviction(reason: number, window: { min: number; max: number } = { min: 0, max: 0 }): Buffer {
	const made = frame({ command: 13 });
	made.fill(0, 200, 256);
	made.writeUInt32LE(window.max, 144);
	made.writeUInt32LE(window.min, 148);
	made[255] = reason;
	return made;
}

/** The first bytes of a frame, with a header that says so: only the content is short. */
export function shortened(whole: Buffer, length: number): Buffer {
	const made = Buffer.from(whole.subarray(0, Math.max(length, 256)));
	made.writeUInt32LE(made.length, 48);
	return made;
}

/** A frame with some bytes changed. */
export function changed(whole: Buffer, change: (copy: Buffer) => void): Buffer {
	const copy = Buffer.from(whole);
	change(copy);
	return copy;
}
