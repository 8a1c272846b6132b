import glue from '../wasm/full.mjs';
import type { CoreTarget } from './load.js';

/** Knows no wasm of its own: the application hands it over. */
export const full: CoreTarget = { name: 'full', glue, wasm: undefined };
