export { installStores } from './idb-transaction.js';
export {
	type ApplicationDatabaseOptions,
	IndexedDbStore,
	type IndexedDbStoreOptions,
	type OwnDatabaseOptions,
} from './indexed-db-store.js';
export { MemoryStore, MemoryTransaction } from './memory-store.js';
export type { Decision, PositionSource, Store, StoredEntry, StoredPosition, StoreKey } from './store.js';
