import { LaserError } from './error.js';

/**
 * A failure that a managed surface answered with, as the contract types it: `variant` is the contract's own name,
 * `detail` its decoded content.
 */
export abstract class SurfaceError extends LaserError {
	readonly variant: string;
	readonly detail: unknown;

	constructor(message: string, about: { variant: string; detail?: unknown }, options?: ErrorOptions) {
		super(message, options);
		this.variant = about.variant;
		this.detail = about.detail;
	}
}

export class QueryError extends SurfaceError {
	static override readonly label = 'QueryError';
	readonly kind = 'query';
}

export class KvError extends SurfaceError {
	static override readonly label = 'KvError';
	readonly kind = 'kv';
}

export class CheckpointError extends SurfaceError {
	static override readonly label = 'CheckpointError';
	readonly kind = 'checkpoint';
}

export class ForkError extends SurfaceError {
	static override readonly label = 'ForkError';
	readonly kind = 'fork';
}

export class GraphError extends SurfaceError {
	static override readonly label = 'GraphError';
	readonly kind = 'graph';
}

export class AuthzError extends SurfaceError {
	static override readonly label = 'AuthzError';
	readonly kind = 'authz';
}

export {
	AuthzError as AuthzExecutionError,
	CheckpointError as CheckpointExecutionError,
	ForkError as ForkExecutionError,
	GraphError as GraphExecutionError,
	KvError as KvExecutionError,
	QueryError as QueryExecutionError,
};
