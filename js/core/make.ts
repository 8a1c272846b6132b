import type { CoreClient, CoreOptions } from './contract.js';
import { Core } from './core.js';
import { type CoreTarget, loadCore, type WasmInput } from './load.js';

/** Makes the core of an entry: which of the two wasm files it is, and where that comes from, is the entry's choice. */
export type MakeCore = (options: CoreOptions, wasm: WasmInput | undefined) => Promise<CoreClient>;

/** `ownedPage` only where there are queries: the small entry does without. */
export function coreMaker(target: CoreTarget, ownedPage?: ConstructorParameters<typeof Core>[3]): MakeCore {
	return async (options, wasm) => new Core(await loadCore(target, wasm), options, undefined, ownedPage);
}
