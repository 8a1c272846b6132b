/** Queries that ran or run: their status, their cursors, and the means to stop them. Held in memory, for ten minutes. */
import { randomBytes } from 'node:crypto';
import type { PageStart } from './query_plan.js';
import type { ExecutionState, ExecutionStatus, QueryError } from './query_reply.js';
import type { Query } from './query_request.js';

const KEEP_MS = 600_000;
const MAX_EXECUTIONS = 4096;
/** Cursors that one execution may hold; the oldest goes first. */
const MAX_CURSORS = 1024;

export interface Execution {
	id: Uint8Array;
	query: Query;
	status: ExecutionStatus;
	cancelled: boolean;
	interrupt: (() => void) | undefined;
	cursors: Map<string, PageStart>;
	touchedAt: number;
}

export function nowMicros(): bigint {
	return BigInt(Date.now()) * 1000n;
}

export class Executions {
	readonly #byId = new Map<string, Execution>();

	start(query: Query): Execution {
		const known = this.find(query.execution_id);
		const execution: Execution = {
			id: query.execution_id,
			query,
			status: {
				execution_id: query.execution_id,
				state: 'planning',
				started_at_micros: nowMicros(),
				finished_at_micros: undefined,
				scanned_bytes: 0n,
				produced_bytes: 0n,
				row_count: 0n,
				error: undefined,
			},
			cancelled: false,
			interrupt: undefined,
			// A repeated first page opens a new snapshot; cursors of an earlier answer stay good.
			cursors: known?.cursors ?? new Map(),
			touchedAt: Date.now(),
		};
		const key = keyOf(query.execution_id);
		this.#byId.delete(key);
		this.#byId.set(key, execution);
		this.expire();
		return execution;
	}

	find(id: Uint8Array): Execution | undefined {
		const execution = this.#byId.get(keyOf(id));
		if (execution === undefined) return undefined;
		if (Date.now() - execution.touchedAt > KEEP_MS) {
			this.#byId.delete(keyOf(id));
			return undefined;
		}
		return execution;
	}

	finish(execution: Execution, state: ExecutionState, error?: QueryError): void {
		execution.status.state = state;
		let finished = nowMicros();
		// The clock may step back; the status must not say so.
		if (finished < execution.status.started_at_micros) finished = execution.status.started_at_micros;
		execution.status.finished_at_micros = finished;
		execution.status.error = state === 'failed' ? error : undefined;
		execution.interrupt = undefined;
		execution.touchedAt = Date.now();
	}

	cursorFor(execution: Execution, start: PageStart): string {
		const cursor = randomBytes(18).toString('base64url');
		execution.cursors.set(cursor, start);
		if (execution.cursors.size > MAX_CURSORS)
			execution.cursors.delete(execution.cursors.keys().next().value!);
		return cursor;
	}

	private expire(): void {
		for (const [key, execution] of this.#byId) {
			const old = Date.now() - execution.touchedAt > KEEP_MS;
			if (!old && this.#byId.size <= MAX_EXECUTIONS) return;
			this.#byId.delete(key);
		}
	}
}

function keyOf(id: Uint8Array): string {
	return Buffer.from(id).toString('hex');
}
