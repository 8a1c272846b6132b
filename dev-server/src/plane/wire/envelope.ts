/** The envelopes around requests and the plain command answer (contract 3.2, 3.4). */
import { encodeCbor } from './cbor.js';
import { Fields } from './fields.js';
import { invalid } from './refusal.js';

export type ResultCode =
	| 'ok'
	| 'unsupported'
	| 'not_found'
	| 'invalid_argument'
	| 'too_large'
	| 'conflict'
	| 'stale'
	| 'version_skew'
	| 'backend'
	| 'forbidden'
	| 'unavailable'
	| 'resource_limit'
	| 'pending'
	| 'backend_unavailable';

export function commandError(code: ResultCode, message: string): Uint8Array {
	return encodeCbor({ code, message });
}

export interface MutationEnvelope {
	v: bigint;
	operation_id: bigint;
	payload: Uint8Array;
}

export function readMutationEnvelope(item: unknown): MutationEnvelope {
	const fields = Fields.of(item, '').closed(['v', 'operation_id', 'payload']);
	const envelope = {
		v: fields.u32('v'),
		operation_id: fields.u128('operation_id'),
		payload: fields.bytes('payload'),
	};
	if (envelope.v !== 1n) invalid('version', 'v');
	if (envelope.operation_id === 0n) invalid('operation_id', 'operation_id');
	return envelope;
}

/** Mutations must come in a ManagedRequestEnvelope; every code here is refused bare. */
export function isWrappedMutation(code: number): boolean {
	return WRAPPED_MUTATIONS.has(code);
}

const WRAPPED_MUTATIONS = new Set([
	1_000_020, 1_000_021, 1_000_108, 1_000_301, 1_000_303, 1_000_304, 1_000_306, 1_000_308, 1_000_309,
	1_000_310, 1_000_311, 1_000_312, 1_000_313, 1_000_314, 1_000_315,
]);

export interface ReadEnvelope {
	v: bigint;
	read: Uint8Array;
}

/** The read inside a ManagedReadEnvelope, or undefined when the item is a bare read. */
export function readReadEnvelope(item: unknown): ReadEnvelope | undefined {
	if (item === null || typeof item !== 'object' || Array.isArray(item) || item instanceof Uint8Array)
		return undefined;
	if (!Object.hasOwn(item, 'read')) return undefined;
	const fields = Fields.of(item, '').closed(['v', 'read', 'min_position', 'log_head', 'min_sessions']);
	const envelope = { v: fields.u32('v'), read: fields.bytes('read') };
	if (envelope.v !== 1n) invalid('version', 'v');
	return envelope;
}
