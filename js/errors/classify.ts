import { isResultCodeName, RESULT_CODES, type ResultCodeName, STREAM_CODES, VARIANT_CODES } from './codes.js';
import {
	AmbiguousMutationError,
	CancelledError,
	CommandError,
	InvalidError,
	LaserError,
	NoStreamError,
	TimeoutError,
	TransportError,
	UnsupportedError,
} from './error.js';
import { StorageError } from './local.js';
import { SurfaceError } from './surface.js';

export interface ResultCode {
	/** Name of the result code; of a streaming-protocol code, its name there or its number in digits. */
	readonly name: string;
	readonly number: number;
}

/**
 * The result code that an error amounts to: the server's own where it sent one, else the one that its kind maps to.
 * `undefined` for errors that never concern a server (configuration, storage, wasm).
 */
export function code(error: unknown): ResultCode | undefined {
	if (error instanceof CommandError) {
		return { name: error.codeName ?? String(error.resultCode), number: error.resultCode };
	}
	const name = codeName(error);
	return name === undefined ? undefined : { name, number: RESULT_CODES[name] };
}

function codeName(error: unknown): ResultCodeName | undefined {
	if (error instanceof CommandError) {
		return isResultCodeName(error.codeName) ? error.codeName : undefined;
	}
	if (error instanceof SurfaceError) return VARIANT_CODES[error.variant];
	if (error instanceof UnsupportedError || error instanceof NoStreamError) return 'unsupported';
	if (error instanceof InvalidError) return 'invalid_argument';
	if (error instanceof TransportError) return error.retryable ? 'unavailable' : 'backend';
	if (error instanceof TimeoutError) return 'deadline_exceeded';
	if (error instanceof CancelledError) return 'cancelled';
	return undefined;
}

function is(error: unknown, ...names: readonly ResultCodeName[]): boolean {
	const name = codeName(error);
	return name !== undefined && names.includes(name);
}

function isStreamCode(error: unknown, ...codes: readonly number[]): boolean {
	return (
		error instanceof CommandError && !isResultCodeName(error.codeName) && codes.includes(error.resultCode)
	);
}

/** May the same call be made again as it is? Never after an unknown outcome of a mutation. */
export function isRetryable(error: unknown): boolean {
	if (error instanceof AmbiguousMutationError) return false;
	if (error instanceof TransportError || error instanceof StorageError) return error.retryable;
	if (error instanceof CommandError && error.retryable) return true;
	return (
		error instanceof TimeoutError ||
		is(error, 'stale', 'unavailable', 'target_unavailable', 'backend_unavailable') ||
		isStreamCode(error, STREAM_CODES.transient, STREAM_CODES.notCommitted)
	);
}

export function isUnsupported(error: unknown): boolean {
	return is(error, 'unsupported');
}

export function isNotFound(error: unknown): boolean {
	return (
		is(error, 'not_found') ||
		isStreamCode(
			error,
			STREAM_CODES.streamNotFound,
			STREAM_CODES.topicNotFound,
			STREAM_CODES.partitionNotFound,
		)
	);
}

export function isUnavailable(error: unknown): boolean {
	return is(error, 'unavailable', 'target_unavailable', 'backend_unavailable');
}

export function isStale(error: unknown): boolean {
	return is(error, 'stale');
}

export function isVersionSkew(error: unknown): boolean {
	return is(error, 'version_skew');
}

/** A lost precondition: somebody else changed it first. A lost lease is not one. */
export function isVersionConflict(error: unknown): boolean {
	return is(error, 'conflict') && !isLeaseLost(error);
}

export function isAmbiguousMutation(error: unknown): boolean {
	return error instanceof AmbiguousMutationError;
}

export function isLeaseLost(error: unknown): boolean {
	return error instanceof SurfaceError && error.variant === 'LeaseLost';
}

export function isPermissionDenied(error: unknown): boolean {
	return is(error, 'forbidden', 'step_up_required') || isStreamCode(error, STREAM_CODES.unauthorized);
}

export function isNotLeader(error: unknown): boolean {
	return error instanceof SurfaceError && error.variant === 'NotLeader';
}

export function isLaserError(error: unknown): error is LaserError {
	return error instanceof LaserError;
}
