/** The whole client without wasm of its own: `connect` is given it as option `wasm`. */
import { full } from './core/full-slim.js';
import { coreMaker } from './core/make.js';
import { ownedPage } from './core/query.js';
import { ManagedHandle } from './managed-handle.js';

export * from './full-api.js';

export class Laser extends ManagedHandle {
	/** @internal */
	static readonly makeCore = coreMaker(full, ownedPage);
}
