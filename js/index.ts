/** The whole client: everything of `tidemark/watch`, and the managed plane. */
import { ConsumerBase } from './changefeed/consumer.js';
import type { Change } from './changefeed/types.js';
import { full } from './core/full.js';
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
