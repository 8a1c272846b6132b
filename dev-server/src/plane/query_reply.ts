/** Query answers as they travel (contract 10.8 to 10.10), in wire order. */

import type { Consistency } from './query_request.js';
import { encodeCbor } from './wire/cbor.js';
import type { LogicalField } from './wire/logical_type.js';
import type { TypedValue } from './wire/typed_value.js';

export interface Row {
	values: TypedValue[];
	score?: number;
}

export interface Page {
	offset: bigint | undefined;
	limit: bigint;
	total: bigint | undefined;
	has_more: boolean;
	next_cursor: string | undefined;
}

export interface FrontierEntry {
	stream: string;
	topic: string;
	partition_id: bigint;
	topic_created_at_micros: bigint | undefined;
	applied_offset: bigint;
}

interface BackendEvidence {
	backend_resource_id: Uint8Array;
	backend_generation: bigint;
	runtime_configuration_revision: bigint;
}

export type ResolvedTarget =
	| ({ kind: 'operational'; index: string } & BackendEvidence)
	| ({
			kind: 'lakehouse';
			destination_id: Uint8Array;
			destination_generation: bigint;
	  } & BackendEvidence & {
				table_uuid: Uint8Array;
				namespace: string[];
				table: string;
				snapshot_id: bigint;
				schema_id: bigint;
				partition_spec_id: bigint;
			});

export interface Boundary {
	digest: Uint8Array;
	relation_to_current: 'current' | 'historical' | 'ahead_of_observed_checkpoint';
}

export interface QueryContext {
	execution_id: Uint8Array;
	engine: { name: string; version: string; dialect?: string | undefined };
	resolved_target: ResolvedTarget;
	requested_consistency: Consistency;
	delivered_consistency: Consistency;
	boundary: Boundary | undefined;
	checkpoint_revision: bigint | undefined;
	global_state_revision: bigint | undefined;
	truncated: boolean;
	elapsed_micros: bigint;
	scanned_bytes: bigint;
	produced_bytes: bigint;
	row_count: bigint;
	frontier: FrontierEntry[] | undefined;
}

export interface QueryResult {
	fields: LogicalField[];
	rows: Row[];
	page: Page;
	context: QueryContext;
}

export type QueryError =
	| { Unsupported: string }
	| { IndexNotFound: string }
	| { Backend: string }
	| { Unavailable: string }
	| { TooLarge: { what: string; size: bigint; cap: bigint } }
	| { Version: { expected: bigint; got: bigint } }
	| { Stale: { what: string; applied: bigint; required: bigint } }
	| { Cancelled: { execution_id: Uint8Array } }
	| { DeadlineExceeded: { execution_id: Uint8Array } }
	| { ExpiredSnapshot: { snapshot_id: bigint } }
	| { StaleGeneration: { what: string; requested: bigint; observed: bigint } }
	| { TargetUnavailable: { reason: string } }
	| { ResourceLimit: { resource: string; observed: bigint; limit: bigint } };

/** Ends a query with an answer of the query surface. */
export class QueryFailure extends Error {
	constructor(readonly error: QueryError) {
		super(Object.keys(error)[0]);
		this.name = 'QueryFailure';
	}
}

export type ExecutionState =
	| 'queued'
	| 'planning'
	| 'running'
	| 'completed'
	| 'cancelled'
	| 'failed'
	| 'expired';

export interface ExecutionStatus {
	execution_id: Uint8Array;
	state: ExecutionState;
	started_at_micros: bigint;
	finished_at_micros: bigint | undefined;
	scanned_bytes: bigint;
	produced_bytes: bigint;
	row_count: bigint;
	error: QueryError | undefined;
}

export function encodeOk(value: unknown): Uint8Array {
	return encodeCbor({ Ok: value });
}

export function encodeErr(error: QueryError): Uint8Array {
	return encodeCbor({ Err: error });
}
