import { defaultWasm } from '#platform/wasm-feed';
import glue from '../wasm/feed.mjs';
import type { CoreTarget } from './load.js';

export const feed: CoreTarget = { name: 'feed', glue, wasm: defaultWasm };
