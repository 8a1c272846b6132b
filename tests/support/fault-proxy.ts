import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type Direction = 'up' | 'down';

/** What to do to the bytes of one connection. Positions count from the connection's first byte in that direction. */
export interface Trouble {
	/** End the connection when this many bytes of the direction have been forwarded; the rest is lost. */
	cutAfter?: { direction: Direction; bytes: number; reset?: boolean };
	/** The same at a boundary of the WebSocket: after the upgrade (0) or after that many messages. */
	cutAfterFrames?: { direction: Direction; frames: number; reset?: boolean };
	/** Stop forwarding, both ways, and keep both sockets open: what a lost network looks like. */
	silentAfter?: { direction: Direction; bytes: number };
	/** Milliseconds that every chunk waits. */
	delayMs?: number;
	/** Bytes a second towards the client: a slow reader. */
	bytesPerSecond?: number;
	/** When the server closes, tell the client only after this many milliseconds. */
	lateCloseMs?: number;
}

/** Finds the boundaries of a WebSocket's bytes: after the HTTP head, then after every frame. */
class Boundaries {
	/** Passed so far, the one after the HTTP head included. */
	count = 0;
	#matched = 0;
	#head: number[] = [];
	#left = 0;
	#inHttp = true;

	/** Takes bytes; returns how many of them belong before the boundary number `last`, or all. */
	push(bytes: Uint8Array, last: number): number {
		for (let at = 0; at < bytes.length; ) {
			if (this.count >= last) return at;
			if (this.#left > 0) {
				const part = Math.min(this.#left, bytes.length - at);
				this.#left -= part;
				at += part;
				if (this.#left === 0) this.count += 1;
			} else if (this.#inHttp) {
				const wanted = this.#matched % 2 === 0 ? 13 : 10;
				this.#matched = bytes[at] === wanted ? this.#matched + 1 : bytes[at] === 13 ? 1 : 0;
				at += 1;
				if (this.#matched < 4) continue;
				this.#inHttp = false;
				this.count += 1;
			} else {
				this.#head.push(bytes[at] as number);
				at += 1;
				this.#readHead();
			}
		}
		return bytes.length;
	}

	#readHead(): void {
		const [, second = 0] = this.#head;
		if (this.#head.length < 2) return;
		const short = second & 0x7f;
		const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
		if (this.#head.length < 2 + extra) return;
		const length = extra === 0 ? short : this.#head.slice(2).reduce((sum, byte) => sum * 256 + byte, 0);
		this.#left = length + (second >= 128 ? 4 : 0);
		this.#head = [];
		if (this.#left === 0) this.count += 1;
	}
}

interface Link {
	client: Socket;
	server: Socket;
	forwarded: Record<Direction, number>;
	boundaries: Record<Direction, Boundaries>;
	silent: boolean;
	trouble: Trouble;
}

function lastBoundary({ cutAfterFrames }: Trouble, direction: Direction): number {
	return cutAfterFrames?.direction === direction ? cutAfterFrames.frames + 1 : Number.POSITIVE_INFINITY;
}

/**
 * A TCP proxy that breaks connections on purpose, at exact bytes. It stands between a client and the development
 * server, under the WebSocket, and knows nothing of either.
 */
export class FaultProxy {
	private readonly links = new Set<Link>();
	private next: Trouble[] = [];
	private refusing = false;
	/** Bytes and boundaries (the upgrade and each message) of every connection so far, in order. */
	readonly traffic: { bytes: Record<Direction, number>; boundaries: Record<Direction, number> }[] = [];
	/** Connections accepted so far. */
	accepted = 0;
	/** Applied to every connection that `trouble()` did not plan for. */
	always: Trouble = {};

	private constructor(
		private readonly server: Server,
		private readonly target: { host: string; port: number },
	) {
		server.on('connection', (client) => this.accept(client));
	}

	static async start(target: string): Promise<FaultProxy> {
		const { hostname, port } = new URL(target.includes('://') ? target : `tcp://${target}`);
		const server = createServer();
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		return new FaultProxy(server, { host: hostname, port: Number(port) });
	}

	get port(): number {
		return (this.server.address() as AddressInfo).port;
	}
	get ws(): string {
		return `ws://127.0.0.1:${this.port}`;
	}
	/** Connections that are open on both sides right now. */
	get open(): number {
		return this.links.size;
	}

	/** Plans what happens to the next connection; called again, to the one after it. */
	trouble(trouble: Trouble): void {
		this.next.push(trouble);
	}
	/** Bytes forwarded so far by the newest connection. */
	forwarded(direction: Direction): number {
		return [...this.links].at(-1)?.forwarded[direction] ?? 0;
	}
	cutAll(): void {
		for (const link of [...this.links]) this.cut(link, true);
	}
	/** Existing connections go silent and stay open. */
	silence(): void {
		for (const link of this.links) link.silent = true;
	}
	refuse(refusing: boolean): void {
		this.refusing = refusing;
	}
	async close(): Promise<void> {
		for (const link of [...this.links]) this.cut(link, true);
		await new Promise<void>((resolve) => this.server.close(() => resolve()));
	}

	private accept(client: Socket): void {
		if (this.refusing) {
			client.destroy();
			return;
		}
		this.accepted += 1;
		const server = connect(this.target.port, this.target.host);
		const link: Link = {
			client,
			server,
			forwarded: { up: 0, down: 0 },
			boundaries: { up: new Boundaries(), down: new Boundaries() },
			silent: false,
			trouble: this.next.shift() ?? this.always,
		};
		this.links.add(link);
		const { forwarded, boundaries } = link;
		this.traffic.push({
			bytes: forwarded,
			boundaries: {
				get up() {
					return boundaries.up.count;
				},
				get down() {
					return boundaries.down.count;
				},
			},
		});
		for (const socket of [client, server]) {
			socket.setNoDelay(true);
			socket.on('error', () => this.cut(link, false));
		}
		client.on('data', (chunk: Buffer) => this.forward(link, 'up', chunk));
		server.on('data', (chunk: Buffer) => this.forward(link, 'down', chunk));
		client.on('close', () => this.cut(link, false));
		server.on('close', () => {
			if (link.silent) return;
			setTimeout(() => this.cut(link, false), link.trouble.lateCloseMs ?? 0);
		});
	}

	private forward(link: Link, direction: Direction, chunk: Buffer): void {
		if (link.silent) return;
		const { trouble, forwarded } = link;
		const limits = [trouble.cutAfter, trouble.silentAfter].filter((limit) => limit?.direction === direction);
		const room = Math.min(...limits.map((limit) => (limit?.bytes ?? 0) - forwarded[direction]), chunk.length);
		const before = chunk.subarray(0, Math.max(0, room));
		const part = before.subarray(
			0,
			link.boundaries[direction].push(before, lastBoundary(trouble, direction)),
		);
		forwarded[direction] += part.length;
		const [from, to] = direction === 'up' ? [link.client, link.server] : [link.server, link.client];
		const send = (): void => {
			if (!to.destroyed && part.length > 0 && !to.write(part)) {
				from.pause();
				to.once('drain', () => from.resume());
			}
		};
		const rate = direction === 'down' ? trouble.bytesPerSecond : undefined;
		const wait = (trouble.delayMs ?? 0) + (rate === undefined ? 0 : (part.length / rate) * 1000);
		if (wait > 0) {
			from.pause();
			setTimeout(() => {
				send();
				from.resume();
			}, wait);
		} else {
			send();
		}
		if (!this.reached(link, direction)) return;
		if (trouble.silentAfter?.direction === direction) link.silent = true;
		else {
			const reset = trouble.cutAfter?.reset ?? trouble.cutAfterFrames?.reset ?? false;
			setTimeout(() => this.cut(link, reset), wait);
		}
	}

	private reached(link: Link, direction: Direction): boolean {
		const { cutAfter, silentAfter } = link.trouble;
		if (link.boundaries[direction].count >= lastBoundary(link.trouble, direction)) return true;
		return [cutAfter, silentAfter].some(
			(limit) => limit?.direction === direction && link.forwarded[direction] >= limit.bytes,
		);
	}

	private cut(link: Link, reset: boolean): void {
		if (!this.links.delete(link)) return;
		for (const socket of [link.client, link.server]) {
			if (socket.destroyed) continue;
			// What was forwarded before the cut still arrives, unless the cut is a reset.
			if (reset) socket.resetAndDestroy();
			else socket.end(() => socket.destroy());
		}
	}
}
