import type { Abortable } from '../connect/abort.js';
import { requireCapability } from '../connect/capabilities.js';
import type { Context } from '../connect/context.js';

const CONTROL_PUBLISH = 1_000_108;
const CONTRACT_VERSION = 1;

/**
 * Has a control command accepted. Its effect comes later: read it back to see it.
 *
 * @throws {UnsupportedError} the server has no managed plane
 * @throws {AmbiguousMutationError} no answer within 30 s of repeating
 */
export async function publishControl(
	context: Context,
	operation: string,
	command: Record<string, unknown>,
	signal: Abortable,
): Promise<void> {
	requireCapability(context.capabilities.managed, 'control', 'managed');
	await context.call(
		CONTROL_PUBLISH,
		{
			v: CONTRACT_VERSION,
			timestampMicros: 0n,
			command,
			...(context.scope === undefined ? {} : { stream: context.scope }),
		},
		{ surface: 'control', operation, signal },
	);
}

/**
 * Runs a browse command. The core has taken the answer out of its wrapping, and refuses one of another kind.
 *
 * @throws {UnsupportedError} the server has no managed plane
 * @throws {QueryError} the server's own refusal
 */
export async function browse<T>(
	context: Context,
	command: number,
	args: Record<string, unknown>,
	operation: string,
	signal: Abortable,
	resultAsIs = false,
): Promise<T> {
	requireCapability(context.capabilities.managed, 'browse', 'managed');
	return context.call<T>(
		command,
		{ v: CONTRACT_VERSION, ...args },
		{ surface: 'browse', operation, signal, resultAsIs },
	);
}
