/** The whole client in one piece: for places that can neither fetch nor read a file. */
import { full } from './core/full-inline.js';
import { coreMaker } from './core/make.js';
import { ownedPage } from './core/query.js';
import { ManagedHandle } from './managed-handle.js';

export * from './full-api.js';

export class Laser extends ManagedHandle {
	/** @internal */
	static readonly makeCore = coreMaker(full, ownedPage);
}
