import type { CoreError } from '../core/contract.js';
import { RESULT_CODES } from './codes.js';
import {
	AmbiguousMutationError,
	CancelledError,
	ClosedError,
	CodecError,
	CommandError,
	EvictionError,
	InvalidError,
	type LaserError,
	ProtocolError,
	PublishFailedError,
	TimeoutError,
	TransportError,
	UnsupportedError,
} from './error.js';
import {
	AuthzError,
	CheckpointError,
	ForkError,
	GraphError,
	KvError,
	QueryError,
	type SurfaceError,
} from './surface.js';

/** What the caller was doing: named in errors, never with anything secret. */
export interface Doing {
	surface: string;
	operation: string;
	stream?: string;
	topic?: string;
}

/** Makes the public error of a core error. The only place where one becomes the other. */
export function errorFromCore(error: CoreError, doing: Doing): LaserError {
	const message = describe(error, doing);
	switch (error.kind) {
		case 'invalid':
			return new InvalidError(message, error);
		case 'codec':
			return new CodecError(message, {
				...error,
				surface: error.surface ?? doing.surface,
				operation: doing.operation,
			});
		case 'protocol':
			return new ProtocolError(message, error);
		case 'unsupported':
			return new UnsupportedError(message, {
				surface: error.surface ?? doing.surface,
				feature: error.feature,
			});
		case 'command':
			return new CommandError(message, {
				resultCode: error.code ?? RESULT_CODES.backend,
				codeName: error.codeName,
				retryable: error.retryable,
			});
		case 'surface':
			return surfaceError(message, error);
		case 'eviction':
			return new EvictionError(message, { reason: error.code ?? 0, reasonName: error.codeName });
		case 'timeout':
			return new TimeoutError(message);
		case 'transport':
			return new TransportError(message, { retryable: error.retryable ?? true });
		case 'cancelled':
			return new CancelledError(message);
		case 'ambiguous':
			return new AmbiguousMutationError(message, { operationId: error.operationId ?? 0n });
		case 'publish':
			return new PublishFailedError(message, {
				committed: error.committed ?? 0,
				unconfirmed: error.unconfirmed ?? 0,
				stream: doing.stream ?? '',
				topic: doing.topic ?? '',
			});
		case 'closed':
			return new ClosedError(message);
	}
}

function describe(error: CoreError, doing: Doing): string {
	const place = [
		error.field ? `field ${error.field}` : '',
		error.position !== undefined && error.rule !== undefined ? `byte ${error.position}` : '',
	].filter((part) => part !== '');
	const rule = error.rule === undefined || error.message.includes(error.rule) ? '' : ` (${error.rule})`;
	return `${doing.operation}: ${error.message}${rule}${place.length > 0 ? `, at ${place.join(', ')}` : ''}`;
}

const SURFACES = {
	query: QueryError,
	browse: QueryError,
	kv: KvError,
	checkpoint: CheckpointError,
	fork: ForkError,
	graph: GraphError,
	authz: AuthzError,
} as const;

function surfaceError(message: string, error: CoreError): SurfaceError {
	const surface = error.surface ?? 'query';
	const Class = Object.hasOwn(SURFACES, surface) ? SURFACES[surface as keyof typeof SURFACES] : QueryError;
	const { variant, detail } = taggedVariant(error.detail);
	return new Class(message, { variant: variant || error.codeName || 'Unknown', detail });
}

/** An externally tagged enum as the core hands it over: a bare name, or one entry from name to content. */
function taggedVariant(value: unknown): { variant: string; detail: unknown } {
	if (typeof value === 'string') return { variant: capitalised(value), detail: undefined };
	if (typeof value !== 'object' || value === null) return { variant: '', detail: value };
	const entries = Object.entries(value);
	const only = entries.length === 1 ? entries[0] : undefined;
	return only === undefined
		? { variant: '', detail: value }
		: { variant: capitalised(only[0]), detail: only[1] };
}

function capitalised(name: string): string {
	return name.charAt(0).toUpperCase() + name.slice(1);
}
