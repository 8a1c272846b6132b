import { ConfigError, CspBlockedError, WasmLoadError } from '../errors/index.js';
import { compileWasm, isCspRefusal, type WasmSource } from '../platform/wasm.js';
import { classesOf, type Glue, type GlueFactory } from './glue.js';
import { Memory } from './memory.js';

/** One of the package's two wasm files with the glue that belongs to it. */
export interface CoreTarget {
	readonly name: 'feed' | 'full';
	readonly glue: GlueFactory;
	/** Where the wasm is found when the application does not hand it over. */
	readonly wasm: (() => WasmSource) | undefined;
}

/** What an application may hand over. */
export type WasmInput = WasmSource | PromiseLike<WasmSource>;

/** An instantiated module. Any number of clients live in it. */
export interface CoreModule {
	readonly glue: Glue;
	readonly memory: Memory;
}

const loaded = new WeakMap<CoreTarget, Promise<CoreModule>>();

/**
 * Loads and instantiates a target. Without a source of its own it is done once a page, and a failure is forgotten, so
 * that the next call tries again.
 *
 * @throws {ConfigError} the entry has no wasm of its own and was given none
 * @throws {CspBlockedError} the page's content-security policy forbids wasm
 * @throws {WasmLoadError} everything else
 */
export function loadCore(target: CoreTarget, source?: WasmInput | undefined): Promise<CoreModule> {
	if (source !== undefined) return instantiate(target, source);
	const { wasm } = target;
	if (wasm === undefined) {
		return Promise.reject(
			new ConfigError(`wasm: this entry loads none by itself, give it tidemark/${target.name}.wasm`),
		);
	}
	let module = loaded.get(target);
	if (module === undefined) {
		module = instantiate(target, wasm());
		loaded.set(target, module);
		module.catch(() => loaded.delete(target));
	}
	return module;
}

async function instantiate(target: CoreTarget, source: WasmInput): Promise<CoreModule> {
	const module = await compileWasm(source);
	return new Promise((resolve, reject) => {
		const fail = (cause: unknown) =>
			reject(
				isCspRefusal(cause)
					? new CspBlockedError('the content-security policy does not allow wasm', { cause })
					: new WasmLoadError(`the ${target.name} module cannot be instantiated: is it of this version?`, {
							cause,
						}),
			);
		let memory: WebAssembly.Memory | undefined;
		target
			.glue({
				wasm: module,
				instantiate: (_, imports) => ({
					// biome-ignore lint/suspicious/noThenProperty: the glue only ever calls it, and hears of no failure
					then(done) {
						WebAssembly.instantiate(module, imports)
							.then((instance) => {
								memory = Object.values(instance.exports).find((one) => one instanceof WebAssembly.Memory);
								done(instance);
							})
							.catch(fail);
					},
				}),
			})
			.then((functions) => {
				resolve({ glue: classesOf(functions), memory: new Memory(memory as WebAssembly.Memory) });
			})
			.catch(fail);
	});
}
