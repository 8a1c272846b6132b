import { defaultWasm } from '#platform/wasm-full';
import glue from '../wasm/full.mjs';
import type { CoreTarget } from './load.js';

export const full: CoreTarget = { name: 'full', glue, wasm: defaultWasm };
