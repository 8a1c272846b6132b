import base64 from '../wasm/feed.inline.mjs';
import glue from '../wasm/feed.mjs';
import { inlined } from './inlined.js';
import type { CoreTarget } from './load.js';

/** Its wasm is part of the JavaScript. */
export const feed: CoreTarget = { name: 'feed', glue, wasm: inlined(base64) };
