import { UnsupportedError } from '../errors/index.js';
import { ManagedId } from './identity.js';

export type ConsistencyLevel = 'eventual' | 'read_your_writes' | 'strong';

const LEVELS: readonly ConsistencyLevel[] = ['eventual', 'read_your_writes', 'strong'];

/** What the server said that it does. Everything is off until it says so. */
export interface Capabilities {
	readonly managed: boolean;
	readonly graph: boolean;
	readonly forks: boolean;
	readonly a2aGateway: boolean;
	readonly sessions: boolean;
	readonly watch: boolean;
	readonly authz: boolean;
	readonly streamTenancy: boolean;
	readonly versions?: OperationVersions;
	readonly backends: readonly BackendDescriptor[];
	/** How the last probe went. `rejected`: a server without a managed plane. `failed`: nothing is known. */
	readonly hello: 'unknown' | 'answered' | 'rejected' | 'failed';
	readonly query: {
		readonly available: boolean;
		/** The highest level served. */
		readonly consistency: ConsistencyLevel;
		readonly keyword: boolean;
		readonly cursorPaging: boolean;
		readonly cancellation: boolean;
		readonly executionStatus: boolean;
	};
	readonly kv: {
		readonly available: boolean;
		readonly cas: boolean;
		readonly casFenced: boolean;
		readonly fencedLeases: boolean;
	};
	readonly destinations: {
		readonly available: boolean;
		readonly consistency: 'linearizable' | 'potentially_stale';
	};
	readonly filters: {
		readonly native: boolean;
		readonly catalog: boolean;
		readonly groupPolicyReads: boolean;
		readonly maxWaitMs: number;
		readonly evaluation?: { readonly evaluatorVersion: number; readonly codecs: readonly string[] };
	};
}

export interface OperationVersions {
	readonly query: number;
	readonly control: number;
	readonly kv: number;
	readonly fork: number;
	readonly agent: number;
	readonly graph: number;
	readonly checkpoint: number;
	readonly filter: number;
	readonly features: bigint;
}

export interface ReadinessReason {
	readonly code: string;
	readonly detail?: string;
}

export interface BackendDescriptor {
	readonly descriptorVersion: number;
	readonly resourceId: ManagedId;
	readonly mode: 'operational' | 'lakehouse';
	readonly label: string;
	readonly implementation: { readonly kind: string; readonly version: string };
	readonly observedBackendGeneration: bigint;
	readonly runtimeConfigurationRevision: bigint;
	readonly desiredState: 'disabled' | 'enabled';
	readonly observedState: 'disabled' | 'starting' | 'ready' | 'degraded' | 'unavailable';
	readonly readiness: {
		readonly ready: boolean;
		readonly reasons: readonly ReadinessReason[];
		readonly observedAtMicros: bigint;
	};
	readonly materialization: readonly {
		readonly fileFormat: string;
		readonly tableFormat: string;
		readonly createTable: boolean;
		readonly append: boolean;
	}[];
	readonly query?: {
		readonly dialects: readonly string[];
		readonly timeTravel: readonly string[];
		readonly consistency: readonly ConsistencyLevel[];
		readonly logicalTypes: readonly string[];
		readonly paging: readonly ('offset' | 'cursor')[];
		readonly cancellation: boolean;
		readonly executionStatus: boolean;
		readonly rawSql: boolean;
	};
	readonly schema: {
		readonly logicalSchema: boolean;
		readonly arrowIpcStream: boolean;
		readonly schemaEvolution: boolean;
	};
	readonly maintenance: {
		readonly expireSnapshots: boolean;
		readonly removeOrphanFiles: boolean;
		readonly compactDataFiles: boolean;
	};
	readonly limits: {
		readonly maxQueryRows: bigint;
		readonly maxQueryBytes: bigint;
		readonly maxScanBytes: bigint;
		readonly maxQueryMicros: bigint;
		readonly maxConcurrentQueries: number;
		readonly maxSchemaFields: number;
		readonly maxMaterializationFileBytes: bigint;
	};
}

/** Any part of the capabilities, groups in part too. */
export type CapabilityOverride = {
	readonly [K in keyof Capabilities]?: Capabilities[K] extends readonly unknown[]
		? Capabilities[K]
		: Capabilities[K] extends object | undefined
			? Partial<Capabilities[K]>
			: Capabilities[K];
};

export const NO_CAPABILITIES: Capabilities = {
	managed: false,
	graph: false,
	forks: false,
	a2aGateway: false,
	sessions: false,
	watch: false,
	authz: false,
	streamTenancy: false,
	backends: [],
	hello: 'unknown',
	query: {
		available: false,
		consistency: 'eventual',
		keyword: false,
		cursorPaging: false,
		cancellation: false,
		executionStatus: false,
	},
	kv: { available: false, cas: false, casFenced: false, fencedLeases: false },
	destinations: { available: false, consistency: 'potentially_stale' },
	filters: { native: false, catalog: false, groupPolicyReads: false, maxWaitMs: 0 },
};

/** Lays an override over a set. */
export function withOverride(base: Capabilities, override: CapabilityOverride): Capabilities {
	return {
		...base,
		...(override as Partial<Capabilities>),
		query: { ...base.query, ...override.query },
		kv: { ...base.kv, ...override.kv },
		destinations: { ...base.destinations, ...override.destinations },
		filters: { ...base.filters, ...override.filters } as Capabilities['filters'],
	};
}

/** Makes the public set of what the core hands over: plain data, identities as 16 bytes. */
export function capabilitiesFromCore(raw: unknown): Capabilities {
	const given = (raw ?? {}) as CapabilityOverride;
	const set = withOverride(NO_CAPABILITIES, given);
	return {
		...set,
		backends: set.backends.map((one) => ({ ...one, resourceId: asId(one.resourceId) })),
	};
}

function asId(id: unknown): ManagedId {
	return id instanceof Uint8Array ? ManagedId.fromBytes(id) : (id as ManagedId);
}

/** The backend with this resource identity. */
export function backend(caps: Capabilities, id: ManagedId | string): BackendDescriptor | undefined {
	const wanted = typeof id === 'string' ? ManagedId.parse(id) : id;
	return caps.backends.find((one) => one.resourceId.equals(wanted));
}

/** Backends that should be serving. */
export function enabledBackends(caps: Capabilities): readonly BackendDescriptor[] {
	return caps.backends.filter((one) => one.desiredState === 'enabled');
}

/** Backends that should be serving and are not. */
export function unreadyBackends(caps: Capabilities): readonly BackendDescriptor[] {
	return enabledBackends(caps).filter((one) => !(one.observedState === 'ready' && one.readiness.ready));
}

/** Why a backend is not ready; empty when it is, `undefined` when there is no such backend. */
export function readinessReasons(
	caps: Capabilities,
	id: ManagedId | string,
): readonly ReadinessReason[] | undefined {
	return backend(caps, id)?.readiness.reasons;
}

/** Managed, with at least one enabled backend, and every enabled one ready. */
export function isReady(caps: Capabilities): boolean {
	return caps.managed && enabledBackends(caps).length > 0 && unreadyBackends(caps).length === 0;
}

/** Nothing but the streaming server: everything off, whatever the probe said. */
export function isOpenOnly(caps: Capabilities): boolean {
	const { hello: _, versions, ...set } = caps;
	const { hello: __, ...none } = NO_CAPABILITIES;
	return versions === undefined && sameData(set, none);
}

export function sameCapabilities(a: Capabilities, b: Capabilities): boolean {
	return sameData(a, b);
}

function sameData(a: unknown, b: unknown): boolean {
	if (a instanceof ManagedId && b instanceof ManagedId) return a.equals(b);
	if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
	const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
	return [...keys].every((key) =>
		sameData((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
	);
}

/** Is this query consistency served? */
export function servesConsistency(caps: Capabilities, level: ConsistencyLevel): boolean {
	return caps.query.available && LEVELS.indexOf(level) <= LEVELS.indexOf(caps.query.consistency);
}

/** @throws {UnsupportedError} when the flag is off */
export function requireCapability(isOn: boolean, surface: string, feature: string): void {
	if (!isOn) throw new UnsupportedError(`the server does not offer ${feature}`, { surface, feature });
}
