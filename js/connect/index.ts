export type {
	ConnectionState,
	Dialect,
	Gap,
	Positions,
	SourceIdentity,
} from '../core/contract.js';
export type { WasmSource } from '../platform/wasm.js';
export type { Abortable } from './abort.js';
export { LaserBuilder } from './builder.js';
export {
	type BackendDescriptor,
	backend,
	type Capabilities,
	type CapabilityOverride,
	type ConsistencyLevel,
	enabledBackends,
	isOpenOnly,
	isReady,
	type OperationVersions,
	type ReadinessReason,
	readinessReasons,
	servesConsistency,
	unreadyBackends,
} from './capabilities.js';
export {
	CapabilitiesEvent,
	type ConnectionEvents,
	ConnectionStateEvent,
	LaserConnection,
} from './connection.js';
export { ManagedId } from './identity.js';
export type { ConnectOptions, ResourceNaming, TokenCallback } from './options.js';
