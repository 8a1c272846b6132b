import { LaserError } from './error.js';

/** History that is needed to go on is gone. Where it was lost in a topic, the place is named. */
export class HistoryLostError extends LaserError {
	static override readonly label = 'HistoryLostError';
	readonly kind = 'history-lost';
	readonly partitionId: number | undefined;
	readonly asked: bigint | undefined;
	readonly firstAvailable: bigint | undefined;

	constructor(
		message: string,
		about?: { partitionId: number; asked: bigint; firstAvailable: bigint | undefined },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.partitionId = about?.partitionId;
		this.asked = about?.asked;
		this.firstAvailable = about?.firstAvailable;
	}
}

export type StorageFailure =
	/** No storage here, or the browser refuses it (private mode). */
	| 'unavailable'
	/** Another tab holds an older version open. */
	| 'blocked'
	/** The stored database is of a newer version and lacks what this one needs. */
	| 'version'
	/** No room is left. */
	| 'quota'
	/** The connection to the database was lost or closed. */
	| 'closed'
	/** What is stored is not what was written. It is left as it is; nothing starts anew by itself. */
	| 'corrupted'
	/** The transaction ended without taking effect for another reason. */
	| 'aborted';

/** The position store failed. `retryable` failures are tried again by themselves; the feed goes on meanwhile. */
export class StorageError extends LaserError {
	static override readonly label = 'StorageError';
	readonly kind = 'storage';
	readonly reason: StorageFailure;
	readonly retryable: boolean;

	constructor(
		message: string,
		about: { reason: StorageFailure; retryable?: boolean },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.reason = about.reason;
		this.retryable = about.retryable ?? true;
	}
}

/** Somebody else moved the stored position since this batch was read. Nothing of the commit was written. */
export class PositionConflictError extends LaserError {
	static override readonly label = 'PositionConflictError';
	readonly kind = 'position-conflict';
}

/** The core's wasm file could not be had or does not compile. */
export class WasmLoadError extends LaserError {
	static override readonly label = 'WasmLoadError';
	readonly kind = 'wasm-load';
}

/** The page's content-security policy refuses wasm: it needs `script-src 'wasm-unsafe-eval'`. */
export class CspBlockedError extends LaserError {
	static override readonly label = 'CspBlockedError';
	readonly kind = 'csp-blocked';
}
