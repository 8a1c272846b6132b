import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from '../wire/endpoint.js';

export class DialError extends Error {
	constructor(
		message: string,
		readonly timedOut: boolean,
	) {
		super(message);
	}
}

export interface DialOptions {
	tls: boolean | { ca?: string | Buffer };
	timeoutMs: number;
	signal: AbortSignal;
}

/** Opens a connection to the upstream. Rejects with `DialError` when it cannot be had in time. */
export function dial(to: Endpoint, options: DialOptions): Promise<Socket> {
	return new Promise((done, fail) => {
		if (options.signal.aborted) {
			fail(new DialError('given up', false));
			return;
		}
		const { tls } = options;
		const at = { host: to.host, port: to.port, noDelay: true };
		const socket = tls
			? connectTls({
					...at,
					...(typeof tls === 'object' && tls.ca !== undefined ? { ca: tls.ca } : {}),
					...(isIP(to.host) ? {} : { servername: to.host }),
				})
			: connect(at);
		// Whoever takes the socket adds listeners of its own; an error must never go unheard.
		socket.on('error', (error) => stop(error.message, false));
		socket.once('close', () => stop('closed', false));
		let settled = false;
		const settle = (): void => {
			settled = true;
			clearTimeout(timer);
			options.signal.removeEventListener('abort', giveUp);
		};
		const stop = (message: string, timedOut: boolean): void => {
			if (settled) return;
			settle();
			socket.destroy();
			fail(new DialError(message, timedOut));
		};
		const giveUp = (): void => stop('given up', false);
		const timer = setTimeout(() => stop('no answer in time', true), options.timeoutMs);
		options.signal.addEventListener('abort', giveUp);
		socket.once(tls ? 'secureConnect' : 'connect', () => {
			if (settled) return;
			settle();
			done(socket);
		});
	});
}
