/** The small entry: connecting, reading topics and the change feed, positions that survive a reload. Without wasm of its own: `connect` is given it as option `wasm`. */

import { ConnectingHandle } from './connect/entry.js';
import { feed } from './core/feed-slim.js';
import { coreMaker } from './core/make.js';

export * from './watch-api.js';

export class Laser extends ConnectingHandle {
	/** @internal */
	static readonly makeCore = coreMaker(feed);
}
