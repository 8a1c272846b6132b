/** The whole client: everything of `tidemark/watch`, and the managed plane. */
import { full } from './core/full.js';
import { coreMaker } from './core/make.js';
import { ownedPage } from './core/query.js';
import { ManagedHandle } from './managed-handle.js';

export * from './full-api.js';

export class Laser extends ManagedHandle {
	/** @internal */
	static readonly makeCore = coreMaker(full, ownedPage);
}
