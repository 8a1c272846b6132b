/** The whole client in one piece: for places that can neither fetch nor read a file. */
import { ConsumerBase } from './changefeed/consumer.js';
import type { Change } from './changefeed/types.js';
import { full } from './core/full-inline.js';
import { coreMaker } from './core/make.js';
import { ownedPage } from './core/query.js';
import { ManagedHandle } from './managed-handle.js';

export * from './full-api.js';

export class Laser extends ManagedHandle {
	/** @internal */
	static readonly makeCore = coreMaker(full, ownedPage);
}

export class Consumer<C extends Change = Change> extends ConsumerBase<C> {
	/** @internal */
	protected override readonly target = full;
}
