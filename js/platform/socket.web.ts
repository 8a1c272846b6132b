import { ConfigError } from '../errors/index.js';
import { type OpenSocket, wireSocket } from './socket.js';

/** Pages, workers, Deno, Bun: they all have a WebSocket. */
export function socketOpener(): Promise<OpenSocket> {
	if (typeof WebSocket !== 'function') return Promise.reject(new ConfigError('there is no WebSocket here'));
	return Promise.resolve((url, handlers) => wireSocket((address) => new WebSocket(address), url, handlers));
}
