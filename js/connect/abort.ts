import { CancelledError, InvalidError } from '../errors/index.js';

/** Every waiting call takes a signal, bare or in an options object. */
export type Abortable = AbortSignal | { readonly signal?: AbortSignal | undefined } | undefined;

/** @throws {InvalidError} what is given as a signal is none: it would never fire, or break the call half way */
export function signalOf(given: Abortable): AbortSignal | undefined {
	// Not by `instanceof`: a signal of another frame would be taken for options without one.
	const isSignal = typeof given === 'object' && given !== null && 'aborted' in given;
	const signal = (isSignal ? given : given?.signal) ?? undefined;
	if (signal !== undefined && typeof signal.addEventListener !== 'function') {
		throw new InvalidError('signal: not an AbortSignal', { rule: 'argument' });
	}
	return signal;
}

export function cancelled(signal: AbortSignal, operation: string): CancelledError {
	return new CancelledError(`${operation}: cancelled`, { cause: signal.reason });
}

/** Calls back when the signal fires. The returned function must run on every way out: signals may live for ever. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
	if (signal === undefined) return () => {};
	signal.addEventListener('abort', callback, { once: true });
	return () => signal.removeEventListener('abort', callback);
}

/** The promise, or CancelledError as soon as the signal fires. What the promise stands for is not stopped by this. */
export function orAborted<T>(
	promise: Promise<T>,
	signal: AbortSignal | undefined,
	operation: string,
): Promise<T> {
	if (signal === undefined) return promise;
	if (signal.aborted) {
		promise.catch(() => {});
		return Promise.reject(cancelled(signal, operation));
	}
	return new Promise<T>((resolve, reject) => {
		const stop = onAbort(signal, () => reject(cancelled(signal, operation)));
		promise.then(resolve, reject).finally(stop);
	});
}

/** Waits, or ends early with CancelledError. */
export function sleep(ms: number, signal: AbortSignal | undefined, operation: string): Promise<void> {
	if (signal?.aborted) return Promise.reject(cancelled(signal, operation));
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			stop();
			resolve();
		}, ms);
		const stop = onAbort(signal, () => {
			clearTimeout(timer);
			reject(cancelled(signal as AbortSignal, operation));
		});
	});
}
