import base64 from '../wasm/full.inline.mjs';
import glue from '../wasm/full.mjs';
import { inlined } from './inlined.js';
import type { CoreTarget } from './load.js';

/** Its wasm is part of the JavaScript. */
export const full: CoreTarget = { name: 'full', glue, wasm: inlined(base64) };
