import { type Abortable, onAbort, signalOf } from '../connect/abort.js';
import { requireCapability } from '../connect/capabilities.js';
import type { CallOptions, Context, Link } from '../connect/context.js';
import { ManagedId } from '../connect/identity.js';
import type { Now } from '../core/contract.js';
import type { QueryPageColumns } from '../core/query.js';
import { InvalidError } from '../errors/index.js';
import type { Query } from './model.js';
import { QueryResult } from './result.js';

const QUERY = 1_000_200;
const QUERY_PAGE = 1_000_201;
const QUERY_CANCEL = 1_000_202;
const QUERY_STATUS = 1_000_203;
const CONTRACT_VERSION = 1;
const MAX_DEADLINE_MS = 25_000;
/** The answer may come this long after the deadline. */
const REPLY_GRACE_MS = 2_000;

export interface QueryExecutionStatus {
	readonly executionId: ManagedId;
	readonly state: 'queued' | 'planning' | 'running' | 'completed' | 'cancelled' | 'failed' | 'expired';
	readonly startedAtMicros: bigint;
	readonly finishedAtMicros?: bigint;
	readonly scannedBytes: bigint;
	readonly producedBytes: bigint;
	readonly rowCount: number;
	/** Of a failed one: the error in the contract's own terms. */
	readonly error?: unknown;
}

/** A fresh identity: 48 bits of milliseconds, then 80 random bits. */
export function newExecutionId(now: Now): ManagedId {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	let milliseconds = Math.floor(now.wall);
	for (let index = 5; index >= 0; index--) {
		bytes[index] = milliseconds % 256;
		milliseconds = Math.floor(milliseconds / 256);
	}
	return ManagedId.fromBytes(bytes);
}

export function defaultDeadlineMicros(now: Now, ms = MAX_DEADLINE_MS): bigint {
	return BigInt(Math.floor((now.wall + ms) * 1000));
}

/** Sends a whole query and waits for its page. */
export async function runQuery(
	context: Context,
	query: Query,
	signal: AbortSignal | undefined,
): Promise<QueryResult> {
	const timeoutMs = waitFor(context, query.deadlineMicros);
	const id = ManagedId.fromBytes(query.executionId);
	return pageCall(context, QUERY, { v: CONTRACT_VERSION, query }, id, {
		surface: 'query',
		operation: 'query',
		timeoutMs,
		signal,
	});
}

/**
 * A further page of an execution.
 *
 * @throws {UnsupportedError} the server pages by new queries only
 */
export async function queryPage(
	context: Context,
	executionId: ManagedId,
	cursor: string,
	deadlineMicros: bigint,
	signal?: Abortable,
): Promise<QueryResult> {
	requireCapability(context.capabilities.query.cursorPaging, 'query', 'cursorPaging');
	const timeoutMs = waitFor(context, deadlineMicros);
	const args = { v: CONTRACT_VERSION, executionId: executionId.toBytes(), cursor, deadlineMicros };
	return pageCall(context, QUERY_PAGE, args, executionId, {
		surface: 'query',
		operation: 'query page',
		timeoutMs,
		signal,
	});
}

/** Pages that are waited for, by connection: behind them nothing urgent can get through. */
const waiting = new WeakMap<Link, number>();

/** Giving up on a page ends its execution on the server too. */
async function pageCall(
	context: Context,
	command: number,
	args: unknown,
	executionId: ManagedId,
	options: CallOptions,
): Promise<QueryResult> {
	const { link } = context;
	waiting.set(link, (waiting.get(link) ?? 0) + 1);
	const signal = signalOf(options.signal);
	// One that was aborted before has sent nothing.
	const stop = onAbort(signal, () => {
		if (!context.capabilities.query.cancellation) return;
		// The caller is gone, and a server that cannot be reached has its own deadline for the query.
		link
			.beside((other) => statusOver(other, QUERY_CANCEL, executionId, 'cancel query', undefined))
			.catch(() => {});
	});
	try {
		return new QueryResult(await context.call<QueryPageColumns>(command, args, options));
	} finally {
		stop();
		waiting.set(link, waiting.get(link)! - 1);
	}
}

export async function queryStatus(
	context: Context,
	executionId: ManagedId,
	signal?: Abortable,
): Promise<QueryExecutionStatus> {
	requireCapability(context.capabilities.query.executionStatus, 'query', 'executionStatus');
	return statusCall(context, QUERY_STATUS, executionId, 'query status', signal);
}

export async function cancelQuery(
	context: Context,
	executionId: ManagedId,
	signal?: Abortable,
): Promise<QueryExecutionStatus> {
	requireCapability(context.capabilities.query.cancellation, 'query', 'cancellation');
	return statusCall(context, QUERY_CANCEL, executionId, 'cancel query', signal);
}

/** A server answers in order: behind a page that is waited for, the call goes over a connection of its own. */
function statusCall(
	context: Context,
	command: number,
	executionId: ManagedId,
	operation: string,
	given: Abortable,
): Promise<QueryExecutionStatus> {
	if (!waiting.get(context.link)) return statusOver(context, command, executionId, operation, given);
	return context.link.beside((other) => statusOver(other, command, executionId, operation, given));
}

async function statusOver(
	context: Context,
	command: number,
	executionId: ManagedId,
	operation: string,
	given: Abortable,
): Promise<QueryExecutionStatus> {
	const status = await context.call<{ executionId: Uint8Array; rowCount: bigint }>(
		command,
		{ v: CONTRACT_VERSION, executionId: executionId.toBytes() },
		{ surface: 'query', operation, signal: signalOf(given) },
	);
	return {
		...status,
		executionId: ManagedId.fromBytes(status.executionId),
		rowCount: Number(status.rowCount),
	} as unknown as QueryExecutionStatus;
}

function waitFor(context: Context, deadlineMicros: bigint): number {
	const left = Number(deadlineMicros) / 1000 - context.driver.now().wall;
	// A moment passes between choosing a deadline and sending.
	if (left > MAX_DEADLINE_MS + 1) {
		throw new InvalidError(`query: a deadline is at most ${MAX_DEADLINE_MS} ms away`, { rule: 'deadline' });
	}
	return Math.max(left, 0) + REPLY_GRACE_MS;
}
