import { LaserError, StorageError } from '../errors/index.js';

function nameOf(error: unknown): string {
	return typeof error === 'object' && error !== null && 'name' in error ? String(error.name) : '';
}

/** Names by which engines say that the connection to the database is closing, closed or lost. */
const LOST = new Set(['InvalidStateError', 'UnknownError', 'AbortError', 'TransactionInactiveError']);
const STORAGE = new Set([
	...LOST,
	'QuotaExceededError',
	'NotFoundError',
	'VersionError',
	'SecurityError',
	'TimeoutError',
]);

/** Is a new connection worth a try? */
export function isConnectionLoss(error: unknown): boolean {
	return LOST.has(nameOf(error));
}

/** Does the error come from the database, as opposed to the application's own code? */
export function isDatabaseFailure(error: unknown): boolean {
	return !(error instanceof LaserError) && STORAGE.has(nameOf(error));
}

export function storageError(cause: unknown, operation: string): StorageError {
	if (cause instanceof StorageError) return cause;
	const name = nameOf(cause);
	const because = (reason: StorageError['reason'], text: string, retryable = true): StorageError =>
		new StorageError(`${operation}: ${text}`, { reason, retryable }, { cause });
	switch (name) {
		case 'QuotaExceededError':
			return because('quota', 'no room is left');
		case 'VersionError':
			return because('version', 'the stored database is newer than this application', false);
		case 'NotFoundError':
			return because('version', 'the database lacks a store that is needed', false);
		case 'SecurityError':
			return because('unavailable', 'this page may not store anything');
		case 'InvalidStateError':
		case 'UnknownError':
			return because('closed', 'the connection to the database was lost');
		default:
			return because(
				'aborted',
				name === '' ? 'the transaction was aborted' : `the database failed (${name})`,
			);
	}
}
