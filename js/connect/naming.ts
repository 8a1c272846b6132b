import { InvalidError } from '../errors/index.js';
import type { Capabilities } from './capabilities.js';
import type { Topology } from './held-capabilities.js';
import type { ResourceNaming } from './options.js';

/** What one handle on a connection adds to it. Handles share the connection and are never changed. */
export interface View {
	readonly stream: string | undefined;
	readonly naming: ResourceNaming;
	readonly opsStream: string | undefined;
	readonly changesTopic: string | undefined;
}

const OPS_STREAM = '_agdx';
const CHANGES_TOPIC = 'changes';
const SCOPED = 'stream:';

/** The stream that managed names are scoped to, if this handle scopes them. */
export function scopeOf(view: View): string | undefined {
	return view.naming === 'stream' ? view.stream : undefined;
}

/** A managed name as it is sent: `stream:S/name` where the handle scopes names, and left alone where it is scoped already. */
export function resourceName(view: View, name: string): string {
	if (typeof name !== 'string') throw new InvalidError('name: not a text', { rule: 'argument' });
	const scope = scopeOf(view);
	return scope === undefined || name === '' || name.startsWith(SCOPED) ? name : `${SCOPED}${scope}/${name}`;
}

/** The name as this handle's user knows it, or `undefined` when it belongs to another stream. */
export function localName(view: View, name: string): string | undefined {
	const scope = scopeOf(view);
	if (scope === undefined) return name;
	const prefix = `${SCOPED}${scope}/`;
	return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : undefined;
}

export function opsStream(view: View, topology: Topology): string {
	return view.opsStream ?? topology.opsStream ?? OPS_STREAM;
}

export function changesTopic(view: View, topology: Topology): string {
	return view.changesTopic ?? topology.changesTopic ?? CHANGES_TOPIC;
}

/** Where the change feed of this handle is. Under stream tenancy each stream has its own. */
export function feedTopic(
	view: View,
	topology: Topology,
	caps: Capabilities,
): { stream: string; topic: string } {
	const scope = scopeOf(view);
	const stream = opsStream(view, topology);
	return caps.streamTenancy && scope !== undefined
		? { stream, topic: `${SCOPED}${scope}/_agdx/changes` }
		: { stream, topic: changesTopic(view, topology) };
}
