import type { SourceIdentity } from '../core/contract.js';
import type { PositionSource, StoredEntry, StoredPosition, StoreKey } from './store.js';

/**
 * A position as stores of structured clones keep it, in the plainest form. Offsets are values, never keys: a bigint can be
 * the one but not the other.
 */
export interface PositionRecord {
	scope: string;
	name: string;
	positions: [number, bigint][];
	identity: SourceIdentity | undefined;
	epoch: number;
	updatedAt: number;
	source: PositionSource;
}

export function toRecord(key: StoreKey, position: StoredPosition): PositionRecord {
	return { ...position, scope: key.scope, name: key.name, positions: [...position.positions] };
}

export function fromRecord(record: PositionRecord | undefined): StoredEntry | undefined {
	return record === undefined ? undefined : { ...record, positions: new Map(record.positions) };
}
