/** The small entry: connecting, reading topics and the change feed, positions that survive a reload. In one piece: for places that can neither fetch nor read a file. */

import { ConnectingHandle } from './connect/entry.js';
import { feed } from './core/feed-inline.js';
import { coreMaker } from './core/make.js';

export * from './watch-api.js';

export class Laser extends ConnectingHandle {
	/** @internal */
	static readonly makeCore = coreMaker(feed);
}
