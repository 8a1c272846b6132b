import type { Abortable } from '../connect/abort.js';
import { requireCapability } from '../connect/capabilities.js';
import type { Context } from '../connect/context.js';
import { errorFromCore } from '../errors/from-core.js';
import { ProtocolError } from '../errors/index.js';

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
 * Runs a browse command and takes the wanted variant out of its answer.
 *
 * @throws {UnsupportedError} the server has no managed plane
 * @throws {QueryError} the server's own refusal
 */
export async function browse<T>(
	context: Context,
	command: number,
	args: Record<string, unknown>,
	variant: string,
	operation: string,
	signal: Abortable,
): Promise<T> {
	requireCapability(context.capabilities.managed, 'browse', 'managed');
	const answer = await context.call<unknown>(
		command,
		{ v: CONTRACT_VERSION, ...args },
		{ surface: 'browse', operation, signal },
	);
	const failure = member(answer, 'Err');
	if (failure !== undefined) {
		throw errorFromCore(
			{ kind: 'surface', message: 'the server refused', surface: 'browse', detail: failure },
			{ surface: 'browse', operation },
		);
	}
	const outcome = member(answer, 'Ok') ?? answer;
	const value = member(outcome, variant);
	if (value === undefined) {
		throw new ProtocolError(`${operation}: the answer is of another kind`, { rule: 'unexpected_outcome' });
	}
	return value as T;
}

function member(value: unknown, key: string): unknown {
	return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
		? (value as Record<string, unknown>)[key]
		: undefined;
}
