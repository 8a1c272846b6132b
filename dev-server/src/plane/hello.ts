/** Readiness and the announcement that tells of it. */
import { CHANGES_TOPIC, OPS_STREAM } from './feed.js';
import { encodeCbor } from './wire/cbor.js';
import { LOGICAL_KINDS } from './wire/logical_type.js';

/** The nearest of the contract's names to the SQL of the engine. */
export const SQL_DIALECT = 'postgres';

export const ENGINE = { name: 'duckdb', version: '1.5' };

const FEATURES = { READ_YOUR_WRITES: 2n, KEYWORD_SEARCH: 32n, WATCH: 64n, STREAM_TENANCY: 8192n };
export const LIMITS = { rows: 1000n, bytes: 67_108_864n, queryMicros: 25_000_000n, concurrent: 8 };

export interface Backend {
	resourceId: Uint8Array;
	generation: bigint;
	revision: bigint;
}

export const REASONS = [
	'configuration_pending',
	'configuration_rejected',
	'query_runtime_unavailable',
	'probe_failed',
	'credential_unavailable',
	'object_store_unavailable',
	'catalog_unavailable',
	'generation_mismatch',
] as const;
export type Reason = (typeof REASONS)[number];

/** Each backend is ready or not by itself. */
export interface Backends<T> {
	operational: T;
	lakehouse: T;
}

export class Readiness {
	#reason: Reason | undefined = 'configuration_pending';
	#observed: 'starting' | 'unavailable' | 'degraded' = 'starting';
	#timer: NodeJS.Timeout | undefined;

	constructor(readyAfterMs: number) {
		if (readyAfterMs <= 0) this.#reason = undefined;
		else {
			this.#timer = setTimeout(() => this.on(), readyAfterMs);
			this.#timer.unref();
		}
	}

	get ready(): boolean {
		return this.#reason === undefined;
	}

	get reason(): string {
		return this.#reason ?? '';
	}

	get observedState(): string {
		return this.ready ? 'ready' : this.#observed;
	}

	on(): void {
		clearTimeout(this.#timer);
		this.#reason = undefined;
	}

	off(reason: Reason, observed: 'starting' | 'unavailable' | 'degraded'): void {
		clearTimeout(this.#timer);
		this.#reason = reason;
		this.#observed = observed;
	}

	close(): void {
		clearTimeout(this.#timer);
	}
}

const QUERY = {
	dialects: [SQL_DIALECT],
	logical_types: LOGICAL_KINDS,
	paging: ['offset', 'cursor'],
	cancellation: true,
	execution_status: true,
	raw_sql: true,
};

const BY_MODE: Backends<{ label: string; query: object; materialization: object[]; fileBytes: bigint }> = {
	operational: {
		label: 'Development server, indexes',
		query: { ...QUERY, time_travel: [], consistency: ['eventual', 'read_your_writes'] },
		materialization: [],
		fileBytes: 0n,
	},
	lakehouse: {
		label: 'Development server, Parquet',
		query: { ...QUERY, time_travel: ['snapshot_id', 'timestamp_micros'], consistency: ['eventual'] },
		// Files come from the server's own API; destinations that clients register are not served.
		materialization: [],
		fileBytes: 0n,
	},
};

function descriptor(mode: keyof Backends<unknown>, backend: Backend, readiness: Readiness): object {
	const { ready } = readiness;
	const { label, query, materialization, fileBytes } = BY_MODE[mode];
	return {
		descriptor_version: 1n,
		resource_id: backend.resourceId,
		mode,
		label,
		implementation: { kind: ENGINE.name, version: ENGINE.version },
		observed_backend_generation: backend.generation,
		runtime_configuration_revision: backend.revision,
		desired_state: 'enabled',
		observed_state: readiness.observedState,
		readiness: {
			ready,
			reasons: ready ? [] : [{ code: readiness.reason }],
			observed_at_micros: BigInt(Date.now()) * 1000n,
		},
		materialization,
		query: wireOrder(query),
		schema: { logical_schema: true, arrow_ipc_stream: false, schema_evolution: false },
		maintenance: { expire_snapshots: false, remove_orphan_files: false, compact_data_files: false },
		limits: {
			max_query_rows: LIMITS.rows,
			max_query_bytes: LIMITS.bytes,
			max_scan_bytes: 1_099_511_627_776n,
			max_query_micros: LIMITS.queryMicros,
			max_concurrent_queries: BigInt(LIMITS.concurrent),
			max_schema_fields: 4096n,
			max_materialization_file_bytes: fileBytes,
		},
	};
}

const QUERY_KEYS = [
	'dialects',
	'time_travel',
	'consistency',
	'logical_types',
	'paging',
	'cancellation',
	'execution_status',
	'raw_sql',
];

function wireOrder(query: object): object {
	return Object.fromEntries(QUERY_KEYS.map((key) => [key, (query as Record<string, unknown>)[key]]));
}

export function announce(
	readiness: Backends<Readiness>,
	backends: Backends<Backend>,
	tenancy: boolean,
): Uint8Array {
	const ready = readiness.operational.ready || readiness.lakehouse.ready;
	let features = FEATURES.READ_YOUR_WRITES | FEATURES.KEYWORD_SEARCH | FEATURES.WATCH;
	if (tenancy) features |= FEATURES.STREAM_TENANCY;
	return encodeCbor({
		// Zero: not served here.
		versions: { query: 1n, control: 1n, kv: 0n, fork: 0n, features },
		ready: ready ? undefined : false,
		backends: [
			descriptor('operational', backends.operational, readiness.operational),
			descriptor('lakehouse', backends.lakehouse, readiness.lakehouse),
		],
		topology: {
			ops_stream: OPS_STREAM,
			control_topic: 'control.commands',
			dlq_topic: 'dlq',
			changes_topic: CHANGES_TOPIC,
			kv_mutations_topic: 'kv.mutations',
			fork_mutations_topic: 'fork.mutations',
			graph_mutations_topic: 'graph.mutations',
			checkpoint_mutations_topic: 'checkpoint.mutations',
		},
	});
}
