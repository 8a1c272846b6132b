import type { Admission, CollectionEntry } from '../core/consumer.js';
import { InvalidError } from '../errors/index.js';
import type { Change, CollectionName, Namespace, RowChange, WatchSet } from './types.js';

/** A change as it may be handed over: what the core decided about it, applied. */
export function admitted<C extends Change>(change: C, admission: Admission): C {
	if (change.kind !== 'row') return change;
	const { outlineOnly, complete, fieldNames } = admission;
	const fields = fieldNames ? change.fields : [];
	if (outlineOnly) {
		// Built from what may be seen, so that no value gets through under another name.
		const { kind, namespace, op, key, atMicros, increment, replace } = change;
		const outline: RowChange = {
			...{ kind, namespace, op, key, atMicros, increment, fields, replace },
			...{ system: true, version: 0, complete: false },
		};
		return outline as C;
	}
	return { ...change, system: false, fields, complete, version: complete ? change.version : 0 };
}

/**
 * Does a change concern the documents that a predicate describes? True when its image after the change, or before it,
 * satisfies the predicate. A change whose images are not complete never does: its content proves nothing.
 */
export function matches(change: Change, predicate: (image: unknown) => boolean): boolean {
	if (change.kind !== 'row' || !change.complete) return false;
	return (
		(change.op !== 'delete' && predicate(change.after)) ||
		(change.op !== 'insert' && predicate(change.before))
	);
}

export function namespaceOf(name: CollectionName): Namespace {
	return typeof name === 'string' ? { collection: name } : name;
}

/** A set as the core compares it. */
export function entriesOf(set: WatchSet): CollectionEntry[] {
	const entries = (names: readonly CollectionName[] | undefined, system: boolean): CollectionEntry[] =>
		(names ?? []).map((name) => {
			const { realm = '', database = '', collection } = namespaceOf(name);
			if (typeof collection !== 'string' || collection === '') {
				throw new InvalidError('watched: a collection has a name', { rule: 'argument' });
			}
			return { realm, database, collection, system };
		});
	return [...entries(set.collections, false), ...entries(set.system, true)];
}

function keyOf(namespace: Namespace): string {
	return JSON.stringify([namespace.realm ?? '', namespace.database ?? '', namespace.collection]);
}

/** Tells quickly whether a collection is watched, and how. */
export class WatchedNames {
	readonly #kinds = new Map<string, 'application' | 'system'>();

	constructor(set: WatchSet) {
		for (const name of set.collections ?? []) this.#kinds.set(keyOf(namespaceOf(name)), 'application');
		// Named as both, it is a system collection.
		for (const name of set.system ?? []) this.#kinds.set(keyOf(namespaceOf(name)), 'system');
	}

	get(namespace: Namespace): 'application' | 'system' | undefined {
		return this.#kinds.get(keyOf(namespace));
	}
}
