/** The stable names of what can go wrong. `error.kind` is what programs should look at; classes are for `instanceof`. */
export type ErrorKind =
	| 'config'
	| 'no-stream'
	| 'unsupported'
	| 'invalid'
	| 'codec'
	| 'protocol'
	| 'timeout'
	| 'cancelled'
	| 'transport'
	| 'ambiguous-mutation'
	| 'query'
	| 'kv'
	| 'checkpoint'
	| 'fork'
	| 'graph'
	| 'authz'
	| 'command'
	| 'publish'
	| 'eviction'
	| 'closed'
	| 'history-lost'
	| 'storage'
	| 'position-conflict'
	| 'wasm-load'
	| 'csp-blocked';

/** The base of every error that Tidemark throws. */
export abstract class LaserError extends Error {
	abstract readonly kind: ErrorKind;

	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		// Not `constructor.name`, which a minifier shortens.
		Object.defineProperty(this, 'name', { value: new.target.label, configurable: true, writable: true });
	}

	static readonly label: string = 'LaserError';
}

/** Where a rule of the wire contract was broken: its name, the byte position and the dotted field path. */
export interface Breach {
	rule?: string;
	position?: number;
	field?: string;
}

/** An option or a combination of options that cannot work. */
export class ConfigError extends LaserError {
	static override readonly label = 'ConfigError';
	readonly kind = 'config';
}

/** A call needs a default stream, or a stream named. */
export class NoStreamError extends LaserError {
	static override readonly label = 'NoStreamError';
	readonly kind = 'no-stream';
}

/** The server does not offer this. Nothing was sent. */
export class UnsupportedError extends LaserError {
	static override readonly label = 'UnsupportedError';
	readonly kind = 'unsupported';
	readonly surface: string;
	readonly feature: string | undefined;

	constructor(
		message: string,
		about: { surface: string; feature?: string | undefined },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.surface = about.surface;
		this.feature = about.feature;
	}
}

/** Refused here before sending, or a reply whose content breaks a rule. */
export class InvalidError extends LaserError {
	static override readonly label = 'InvalidError';
	readonly kind = 'invalid';
	readonly rule: string | undefined;
	readonly position: number | undefined;
	readonly field: string | undefined;

	constructor(message: string, breach: Breach = {}, options?: ErrorOptions) {
		super(message, options);
		this.rule = breach.rule;
		this.position = breach.position;
		this.field = breach.field;
	}
}

/** Bytes that cannot be read as what they should be. */
export class CodecError extends LaserError {
	static override readonly label = 'CodecError';
	readonly kind = 'codec';
	readonly surface: string;
	readonly operation: string;
	readonly rule: string | undefined;
	readonly position: number | undefined;
	readonly field: string | undefined;

	constructor(
		message: string,
		about: { surface: string; operation: string } & Breach,
		options?: ErrorOptions,
	) {
		super(message, options);
		this.surface = about.surface;
		this.operation = about.operation;
		this.rule = about.rule;
		this.position = about.position;
		this.field = about.field;
	}
}

/** A well-formed answer that is not an answer to what was asked. */
export class ProtocolError extends LaserError {
	static override readonly label = 'ProtocolError';
	readonly kind = 'protocol';
	readonly rule: string | undefined;

	constructor(message: string, breach: Breach = {}, options?: ErrorOptions) {
		super(message, options);
		this.rule = breach.rule;
	}
}

export class TimeoutError extends LaserError {
	static override readonly label = 'TimeoutError';
	readonly kind = 'timeout';
}

/** The caller's AbortSignal fired; its reason is the `cause`. */
export class CancelledError extends LaserError {
	static override readonly label = 'CancelledError';
	readonly kind = 'cancelled';
}

/** The connection failed or was lost. `retryable` is false where another attempt cannot help. */
export class TransportError extends LaserError {
	static override readonly label = 'TransportError';
	readonly kind = 'transport';
	readonly retryable: boolean;

	constructor(message: string, about: { retryable: boolean } = { retryable: true }, options?: ErrorOptions) {
		super(message, options);
		this.retryable = about.retryable;
	}
}

/** A mutation may or may not have taken effect. Never retryable by generic code. */
export class AmbiguousMutationError extends LaserError {
	static override readonly label = 'AmbiguousMutationError';
	readonly kind = 'ambiguous-mutation';
	readonly operationId: bigint;

	constructor(message: string, about: { operationId: bigint }, options?: ErrorOptions) {
		super(message, options);
		this.operationId = about.operationId;
	}
}

/** The server refused a command. `resultCode` is the streaming protocol's code or a managed result code's number. */
export class CommandError extends LaserError {
	static override readonly label = 'CommandError';
	readonly kind = 'command';
	readonly resultCode: number;
	readonly codeName: string | undefined;
	readonly retryable: boolean;

	constructor(
		message: string,
		about: { resultCode: number; codeName?: string | undefined; retryable?: boolean | undefined },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.resultCode = about.resultCode;
		this.codeName = about.codeName;
		this.retryable = about.retryable ?? false;
	}
}

/** The server ended the session. `reason` is the protocol's eviction reason. */
export class EvictionError extends LaserError {
	static override readonly label = 'EvictionError';
	readonly kind = 'eviction';
	readonly reason: number;
	readonly reasonName: string | undefined;

	constructor(
		message: string,
		about: { reason: number; reasonName?: string | undefined },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.reason = about.reason;
		this.reasonName = about.reasonName;
	}
}

/** Publishing gave up: `committed` records are stored, `unconfirmed` ones may be. */
export class PublishFailedError extends LaserError {
	static override readonly label = 'PublishFailedError';
	readonly kind = 'publish';
	readonly committed: number;
	readonly unconfirmed: number;
	readonly stream: string;
	readonly topic: string;

	constructor(
		message: string,
		about: { committed: number; unconfirmed: number; stream: string; topic: string },
		options?: ErrorOptions,
	) {
		super(message, options);
		this.committed = about.committed;
		this.unconfirmed = about.unconfirmed;
		this.stream = about.stream;
		this.topic = about.topic;
	}
}

/** The connection, reader or watcher was closed. */
export class ClosedError extends LaserError {
	static override readonly label = 'ClosedError';
	readonly kind = 'closed';
}
