export * from './changefeed/index.js';
export * from './managed/index.js';
export * from './query/index.js';
export * from './watch-api.js';
