import type { Now } from '../core/contract.js';

export interface Clock {
	now(): Now;
	/** Calls back once at or after `delayMs`; the returned function takes it back. */
	after(delayMs: number, callback: () => void): () => void;
}

/** Longer delays overflow a timer's 32 bits and would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
	now: () => ({ mono: performance.now(), wall: Date.now() }),
	after: (delayMs, callback) => {
		const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS));
		return () => clearTimeout(timer);
	},
};
