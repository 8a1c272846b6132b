/** Positions in a file, for Node, Deno and Bun. An entry of its own: nothing else of the package needs a file system. */
export { FileStore, type FileStoreOptions, FileTransaction } from './storage/file-store.js';
