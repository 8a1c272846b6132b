/** The small entry: connecting, reading topics and the change feed, positions that survive a reload. Its wasm is the smaller of the two. */

import { ConnectingHandle } from './connect/entry.js';
import { feed } from './core/feed.js';
import { coreMaker } from './core/make.js';

export * from './watch-api.js';

export class Laser extends ConnectingHandle {
	/** @internal */
	static readonly makeCore = coreMaker(feed);
}
