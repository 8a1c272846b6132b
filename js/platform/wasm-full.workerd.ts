// Edge workers compile wasm at deployment only: there, importing the file gives the compiled module.
import module from '../wasm/full.wasm';

export const defaultWasm = (): WebAssembly.Module => module;
