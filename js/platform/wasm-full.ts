/** Next to this file, wherever the application is served from. Bundlers know this form and emit the asset. */
export const defaultWasm: URL = new URL('../wasm/full.wasm', import.meta.url);
