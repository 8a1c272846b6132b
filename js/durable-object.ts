/** Positions in the storage of a Durable Object, for edge workers. */
export {
	type DurableObjectStorageLike,
	DurableObjectStore,
	type DurableObjectTransactionLike,
} from './storage/durable-object-store.js';
