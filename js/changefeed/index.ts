export type { OnHistoryLost, Op, ReopenReason } from '../core/consumer.js';
export { matches } from './change.js';
export type { ConsumerBase, ConsumerOptions } from './consumer.js';
export { Lazy, type Subscriber } from './lazy.js';
export { type Observer, observeConnection } from './observer.js';
export type { MappedChange, TopicSourceOptions } from './sources.js';
export type {
	Change,
	CollectionName,
	Handler,
	HistoryGap,
	Namespace,
	Position,
	RangeAdvanced,
	RowChange,
	Source,
	SourceStream,
	WatchSet,
} from './types.js';
