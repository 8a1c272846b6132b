import glue from '../wasm/feed.mjs';
import type { CoreTarget } from './load.js';

/** Knows no wasm of its own: the application hands it over. */
export const feed: CoreTarget = { name: 'feed', glue, wasm: undefined };
