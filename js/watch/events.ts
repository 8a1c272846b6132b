import type { Gap, Positions } from '../core/contract.js';
import type { LaserError } from '../errors/index.js';

/**
 * Where a watcher stands. `waiting_for_turn`: another tab has the same durable name at work. `waiting_for_source`: the
 * topic is not there (yet).
 */
export type WatcherState = 'stopped' | 'waiting_for_turn' | 'reading' | 'idle' | 'waiting_for_source';

/** `persistent`: positions are stored. `memory`: by choice they are not. `lost`: they should be, and storage fails. */
export type Persistence = 'persistent' | 'memory' | 'lost';

/** Part of the history is gone. Comes before the records that follow it. */
export class GapEvent extends Event {
	readonly gap: Gap;

	constructor(gap: Gap) {
		super('gap');
		this.gap = gap;
	}
}

/** Everything that there is was read. */
export class IdleEvent extends Event {
	readonly position: Positions;

	constructor(position: Positions) {
		super('idle');
		this.position = position;
	}
}

export class WatcherStateEvent extends Event {
	readonly state: WatcherState;
	readonly previous: WatcherState;

	constructor(state: WatcherState, previous: WatcherState) {
		super('state');
		this.state = state;
		this.previous = previous;
	}
}

export class PersistenceEvent extends Event {
	readonly persistence: Persistence;
	/** Why positions cannot be stored. */
	readonly error: LaserError | undefined;

	constructor(persistence: Persistence, error: LaserError | undefined) {
		super('persistence');
		this.persistence = persistence;
		this.error = error;
	}
}

/** Change records were left out, and the position passes them. Counts are of this read alone. */
export class SkippedEvent extends Event {
	/** Payloads that are no change record. */
	readonly malformed: number;
	/** Change records of a version that this client does not know. */
	readonly version: number;

	constructor(malformed: number, version: number) {
		super('skipped');
		this.malformed = malformed;
		this.version = version;
	}
}

/** A record that does not fit the schema was left out. */
export class MisfitEvent extends Event {
	readonly partitionId: number;
	readonly offset: bigint;
	readonly issues: readonly { readonly message: string }[];

	constructor(about: {
		partitionId: number;
		offset: bigint;
		issues: readonly { readonly message: string }[];
	}) {
		super('misfit');
		this.partitionId = about.partitionId;
		this.offset = about.offset;
		this.issues = about.issues;
	}
}

export interface WatcherEvents {
	gap: GapEvent;
	idle: IdleEvent;
	state: WatcherStateEvent;
	persistence: PersistenceEvent;
	misfit: MisfitEvent;
	skipped: SkippedEvent;
}
