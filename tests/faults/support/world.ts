import { inspect } from 'node:util';
import { expect } from 'vitest';
import type { DevServer } from '../../../dev-server/src/index.js';
import { openContext, type World } from '../../../js/connect/open.js';
import { Core } from '../../../js/core/core.js';
import { full } from '../../../js/core/full.js';
import { loadCore } from '../../../js/core/load.js';
import { ownedPage } from '../../../js/core/query.js';
import { type ConnectOptions, Laser, type LaserError } from '../../../js/index.js';
import type { OpenSocket } from '../../../js/platform/socket.js';
import { socketOpener } from '../../../js/platform/socket.node.js';

export const USER = { username: 'iggy', password: 'iggy' };

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until it is so. */
export async function until(what: string, isSo: () => boolean, withinMs = 10_000): Promise<void> {
	const deadline = Date.now() + withinMs;
	while (!isSo()) {
		if (Date.now() > deadline) throw new Error(`it did not come to be: ${what}`);
		await sleep(5);
	}
}

/** A promise that must settle in time, whatever it does. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error(`not settled within ${ms} ms: ${what}`)), ms);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}

/** What a promise rejects with; that it does is the expectation. */
export async function errorOf(promise: Promise<unknown>): Promise<LaserError> {
	const result = await promise.then(
		(value) => ({ value }),
		(error: unknown) => ({ error }),
	);
	expect(result, 'expected a rejection').toHaveProperty('error');
	return (result as { error: LaserError }).error;
}

/** Everything that a user got to see: no secret may be in it, however deep. */
export class Seen {
	readonly #all: unknown[] = [];

	add<T>(thing: T): T {
		this.#all.push(thing);
		return thing;
	}
	/** Listens to everything that a connection tells. */
	listen(laser: Laser): Laser {
		laser.connection.addEventListener('state', (event) => {
			this.add({ state: event.state, previous: event.previous, error: event.error });
		});
		laser.connection.addEventListener('capabilities', (event) => this.add(event.capabilities));
		return laser;
	}
	get text(): string {
		return this.#all
			.map((one) => `${inspect(one, { depth: 30, showHidden: true })}\n${json(one)}`)
			.join('\n');
	}
	expectNone(...secrets: string[]): void {
		const { text } = this;
		for (const secret of secrets) expect(text.includes(secret), 'a secret was shown').toBe(false);
	}
}

function json(value: unknown): string {
	return JSON.stringify(value, (_, one) => {
		if (typeof one === 'bigint') return one.toString();
		if (one instanceof Error) return { ...one, message: one.message, stack: one.stack, cause: one.cause };
		return one;
	});
}

/** How many sockets the client holds open at once, at most. */
export class SocketCount {
	live = 0;
	most = 0;
	dials = 0;

	readonly opener = async (): Promise<OpenSocket> => {
		const open = await socketOpener();
		return (url, handlers) => {
			this.dials += 1;
			this.live += 1;
			this.most = Math.max(this.most, this.live);
			let ended = false;
			const end = (): void => {
				if (!ended) this.live -= 1;
				ended = true;
			};
			const socket = open(url, {
				...handlers,
				end: (code) => {
					end();
					handlers.end(code);
				},
			});
			return {
				send: (bytes) => socket.send(bytes),
				close: () => {
					end();
					socket.close();
				},
			};
		};
	};
}

/** As `Laser.connect`, with its sockets counted. */
export async function connectCounted(
	url: string,
	options: ConnectOptions,
	count: SocketCount,
	world: Pick<World, 'clock' | 'lifecycle'> = {},
): Promise<Laser> {
	const context = await openContext(url, options, {
		...world,
		makeCore: async (core, wasm) => new Core(await loadCore(full, wasm), core, undefined, ownedPage),
		socketOpener: count.opener,
	});
	return new Laser(context);
}

const utf8 = new TextEncoder();

/** Appends without a client: records that say which they are. */
export async function append(
	server: DevServer,
	place: { stream: string; topic: string; partition?: number },
	numbers: readonly number[],
): Promise<void> {
	await server.log.append(
		place.stream,
		place.topic,
		place.partition ?? 0,
		numbers.map((n) => ({ payload: utf8.encode(JSON.stringify({ n })) })),
	);
}

export const range = (from: number, to: number): number[] =>
	Array.from({ length: to - from }, (_, index) => from + index);

/** What the log holds, in order. */
export async function logged(
	server: DevServer,
	place: { stream: string; topic: string; partition?: number },
): Promise<number[]> {
	const partition = place.partition ?? 0;
	const start = server.log.start(place.stream, place.topic, partition);
	const records = await server.log.read(place.stream, place.topic, partition, start, 100_000);
	return records.map(({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as { n: number }).n);
}
