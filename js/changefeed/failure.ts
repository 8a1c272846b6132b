import type { FailureKind } from '../core/consumer.js';
import { isPermissionDenied, isRetryable } from '../errors/classify.js';
import { LaserError } from '../errors/index.js';

const OF_NO_USE: readonly LaserError['kind'][] = ['closed', 'config', 'no-stream', 'unsupported', 'invalid'];

/** What a source's error means. Whatever is not known may pass. */
export function failureOf(error: unknown): { kind: FailureKind; sharedCause: boolean } {
	const sharedCause = isSharedCause(error);
	if (!(error instanceof LaserError)) return { kind: 'error', sharedCause };
	if (error.kind === 'history-lost') return { kind: 'history_lost', sharedCause };
	const isFatal = !isRetryable(error) && (OF_NO_USE.includes(error.kind) || isPermissionDenied(error));
	return { kind: isFatal ? 'fatal' : 'error', sharedCause };
}

/** A server that went away did so for all its clients. */
function isSharedCause(error: unknown): boolean {
	return (
		error instanceof LaserError &&
		(error.kind === 'transport' || error.kind === 'timeout' || error.kind === 'eviction')
	);
}
