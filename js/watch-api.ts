export * from './connect/index.js';
export * from './errors/index.js';
export * from './storage/index.js';
export * from './topic/index.js';
export * from './watch/index.js';
