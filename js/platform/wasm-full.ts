/**
 * Next to this file, wherever the application is served from. Bundlers know this form and emit the asset. Made when it is
 * asked for: importing looks at nothing.
 */
export const defaultWasm = (): URL => new URL('../wasm/full.wasm', import.meta.url);
