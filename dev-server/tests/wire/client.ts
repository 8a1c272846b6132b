import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

/** A raw client: frames out, frames in, nothing interpreted. */
export interface RawClient {
	send(frame: Buffer): void;
	/** The next frame; undefined when the connection ended or nothing came in time. */
	next(timeoutMs?: number): Promise<Buffer | undefined>;
	call(frame: Buffer, timeoutMs?: number): Promise<Buffer>;
	closed: Promise<{ code: number }>;
	close(): void;
}

class Inbox {
	readonly #frames: Buffer[] = [];
	#waiting: ((frame: Buffer | undefined) => void) | undefined;
	#ended = false;

	push(frame: Buffer): void {
		if (this.#waiting) this.#waiting(frame);
		else this.#frames.push(frame);
	}

	end(): void {
		this.#ended = true;
		this.#waiting?.(undefined);
	}

	next(timeoutMs: number): Promise<Buffer | undefined> {
		const ready = this.#frames.shift();
		if (ready || this.#ended) return Promise.resolve(ready);
		return new Promise((done) => {
			const timer = setTimeout(() => finish(undefined), timeoutMs);
			const finish = (frame: Buffer | undefined): void => {
				clearTimeout(timer);
				this.#waiting = undefined;
				done(frame);
			};
			this.#waiting = finish;
		});
	}
}

async function called(
	client: Pick<RawClient, 'send' | 'next'>,
	frame: Buffer,
	timeoutMs: number,
): Promise<Buffer> {
	client.send(frame);
	const reply = await client.next(timeoutMs);
	if (!reply) throw new Error('no reply');
	return reply;
}

export function openWebSocket(
	url: string,
	options: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<RawClient & { socket: WebSocket }> {
	const socket = new WebSocket(url, options.protocols ?? [], {
		headers: options.headers ?? {},
		perMessageDeflate: false,
		maxPayload: 80 << 20,
	});
	const inbox = new Inbox();
	socket.on('message', (data: Buffer) => inbox.push(data));
	const closed = new Promise<{ code: number }>((done) => {
		socket.on('close', (code) => {
			inbox.end();
			done({ code });
		});
	});
	const client = {
		socket,
		closed,
		send: (frame: Buffer) => socket.send(frame),
		next: (timeoutMs = 2000) => inbox.next(timeoutMs),
		call: (frame: Buffer, timeoutMs = 2000) => called(client, frame, timeoutMs),
		close: () => socket.terminate(),
	};
	return new Promise((done, fail) => {
		socket.on('open', () => done(client));
		socket.on('error', fail);
	});
}

export function openTcp(address: string): Promise<RawClient & { socket: Socket }> {
	const [host, port] = address.split(':');
	const socket = connect(Number(port), host);
	const inbox = new Inbox();
	let pending = Buffer.alloc(0);
	socket.on('data', (chunk) => {
		pending = Buffer.concat([pending, chunk]);
		while (pending.length >= 256 && pending.length >= pending.readUInt32LE(48)) {
			const size = pending.readUInt32LE(48);
			inbox.push(pending.subarray(0, size));
			pending = pending.subarray(size);
		}
	});
	const closed = new Promise<{ code: number }>((done) => {
		socket.on('close', () => {
			inbox.end();
			done({ code: 0 });
		});
	});
	const client = {
		socket,
		closed,
		send: (frame: Buffer) => {
			socket.write(frame);
		},
		next: (timeoutMs = 2000) => inbox.next(timeoutMs),
		call: (frame: Buffer, timeoutMs = 2000) => called(client, frame, timeoutMs),
		close: () => socket.destroy(),
	};
	return new Promise((done, fail) => {
		socket.on('connect', () => done(client));
		socket.on('error', fail);
	});
}
