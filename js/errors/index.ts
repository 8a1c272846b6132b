export * from './classify.js';
export * from './error.js';
export * from './local.js';
export * from './surface.js';
