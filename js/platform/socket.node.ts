import { type OpenSocket, type WebSocketLike, wireSocket } from './socket.js';

/** As large as the largest reply: the `ws` package's own limit is set so that the server's decides. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
const CLOSE_GRACE_MS = 1_000;

/** Node from 22 on has a WebSocket; before that the `ws` package is one. */
export async function socketOpener(): Promise<OpenSocket> {
	if (typeof globalThis.WebSocket === 'function') {
		return (url, handlers) => wireSocket((address) => new globalThis.WebSocket(address), url, handlers);
	}
	const { WebSocket } = await import('ws');
	const create = (url: string): WebSocketLike => {
		const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES });
		const close = socket.close.bind(socket);
		socket.close = () => {
			close();
			// A peer that is gone never answers the close: do not hold the process for it.
			setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
		};
		return socket as unknown as WebSocketLike;
	};
	return (url, handlers) => wireSocket(create, url, handlers);
}
