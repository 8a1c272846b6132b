export type { Batch, ColumnsOf, CommitResult } from './batch.js';
export { type DurableOptions, DurableWatcher, type FollowOptions, type TransactionOf } from './durable.js';
export {
	GapEvent,
	IdleEvent,
	MisfitEvent,
	type Persistence,
	PersistenceEvent,
	SkippedEvent,
	type WatcherEvents,
	type WatcherState,
	WatcherStateEvent,
} from './events.js';
export { type Offsets, offsetsFromJSON, offsetsToJSON } from './offsets.js';
export type { PollOptions } from './poller.js';
export { Watch } from './watch.js';
export { type ChangeRecord, WatchReader } from './watch-reader.js';
