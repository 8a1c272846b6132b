// The glue that Emscripten makes lies beside this file after `npm run build:wasm`, and in the package in dist/wasm.
import type { GlueFactory } from '../core/glue.js';

declare const create: GlueFactory;
export default create;
