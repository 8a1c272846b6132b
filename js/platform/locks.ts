// Node 20 does not declare `navigator` at all.
function lockManager(): LockManager | undefined {
	return globalThis.navigator?.locks as LockManager | undefined;
}

export function hasLocks(): boolean {
	return lockManager() !== undefined;
}

/**
 * Waits for the named Web Lock and returns the function that gives it back, or `undefined` at once where there are no
 * Web Locks. Waiting has no time limit: another tab may hold the lock for as long as it lives.
 *
 * @throws the signal's reason, when it fires while waiting
 */
export async function takeLock(name: string, signal: AbortSignal): Promise<(() => void) | undefined> {
	signal.throwIfAborted();
	const locks = lockManager();
	if (locks === undefined) return undefined;
	return new Promise((resolve, reject) => {
		locks
			.request(name, { signal }, () => new Promise<void>((release) => resolve(release)))
			.catch((error: unknown) => {
				// A page without an origin of its own (sandboxed) has the object but may not use it.
				if (error instanceof Error && error.name === 'SecurityError') resolve(undefined);
				else reject(error);
			});
	});
}
