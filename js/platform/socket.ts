import { ConfigError, TransportError } from '../errors/index.js';

/** What a socket reports. Nothing is called any more once `close` was called on it. */
export interface SocketHandlers {
	open(): void;
	frame(bytes: Uint8Array): void;
	/** A text message came: the protocol has none. */
	text(): void;
	/** It ended, or never opened. Called once. */
	end(closeCode: number | undefined): void;
}

export interface Socket {
	send(frame: Uint8Array): void;
	/** Detaches the handlers, then closes without waiting: a dead peer may take minutes to let a socket go. */
	close(): void;
}

/**
 * Starts to open a socket.
 *
 * @throws {ConfigError} the address is not one
 * @throws {TransportError} not retryable: this page may not open it (mixed content, policy)
 */
export type OpenSocket = (url: string, handlers: SocketHandlers) => Socket;

/** The part of a WebSocket that is used. The browser's own and the `ws` package's both have it. */
export interface WebSocketLike {
	binaryType: string;
	readonly readyState: number;
	onopen: ((event: never) => void) | null;
	onmessage: ((event: never) => void) | null;
	onclose: ((event: never) => void) | null;
	onerror: ((event: never) => void) | null;
	send(data: Uint8Array<ArrayBuffer>): void;
	close(): void;
}

const OPEN = 1;
const noop = (): void => {};

/** Wires any WebSocket to the handlers. `create` gets the address only: servers of this protocol refuse subprotocols. */
export function wireSocket(
	create: (url: string) => WebSocketLike,
	url: string,
	handlers: SocketHandlers,
): Socket {
	const socket = construct(create, url);
	socket.binaryType = 'arraybuffer';
	const detach = (): void => {
		socket.onopen = noop;
		socket.onmessage = noop;
		socket.onclose = noop;
		// Not null: an error event without a listener ends a Node process.
		socket.onerror = noop;
	};
	const end = (closeCode: number | undefined): void => {
		detach();
		handlers.end(closeCode);
	};
	socket.onopen = () => handlers.open();
	socket.onmessage = (event: { data: unknown }) => {
		if (event.data instanceof ArrayBuffer) handlers.frame(new Uint8Array(event.data));
		else handlers.text();
	};
	socket.onclose = (event: { code?: number }) => end(event.code);
	// A close event follows every error event of an opened socket, and of one that never opened as well.
	socket.onerror = noop;
	return {
		send: (frame) => {
			if (socket.readyState === OPEN) socket.send(frame as Uint8Array<ArrayBuffer>);
		},
		close: () => {
			detach();
			try {
				socket.close();
			} catch {
				// It is dropped either way.
			}
		},
	};
}

function construct(create: (url: string) => WebSocketLike, url: string): WebSocketLike {
	try {
		return create(url);
	} catch (cause) {
		const name = cause instanceof Error ? cause.name : '';
		if (name === 'SyntaxError') throw new ConfigError('not a WebSocket address', { cause });
		throw new TransportError('this environment refuses to open the socket', { retryable: false }, { cause });
	}
}
