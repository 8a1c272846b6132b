/** Queries that ran or run: their status, their cursors, and the means to stop them. Held in memory. */
import { randomBytes } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PageStart } from './answer.js';
import { type ExecutionState, type ExecutionStatus, type QueryError, QueryFailure } from './query_reply.js';
import type { Query } from './query_request.js';

const KEEP_MS = 600_000;
const MAX_EXECUTIONS = 4096;
/** Cursors that one execution may hold; the oldest goes first. */
const MAX_CURSORS = 1024;
/** An interrupt that comes between two statements is lost, so it is repeated until the work has ended. */
const INTERRUPT_EVERY_MS = 10;
const MAX_TIMEOUT_MS = 2_147_483_647;

interface Cursor {
	start: PageStart;
	/** The snapshot of a lakehouse target that the first page read. */
	snapshot: bigint | undefined;
	usedAt: number;
}

export interface Execution {
	id: Uint8Array;
	query: Query;
	status: ExecutionStatus;
	stop: Stop | undefined;
	cursors: Map<string, Cursor>;
	touchedAt: number;
}

export function nowMicros(): bigint {
	return BigInt(Date.now()) * 1000n;
}

/** Ends one running query: by a cancel, or by itself at the deadline. */
export class Stop {
	#reason: 'cancelled' | 'late' | undefined;
	readonly #connections = new Set<DuckDBConnection>();
	readonly #deadline: NodeJS.Timeout;
	#again: NodeJS.Timeout | undefined;

	constructor(
		private readonly id: Uint8Array,
		private readonly deadlineMicros: bigint,
	) {
		const left = Number(deadlineMicros / 1000n) - Date.now();
		this.#deadline = setTimeout(() => this.end('late'), Math.min(Math.max(0, left), MAX_TIMEOUT_MS));
	}

	get stopped(): boolean {
		if (this.#reason === undefined && this.deadlineMicros <= nowMicros()) this.#reason = 'late';
		return this.#reason !== undefined;
	}

	/** What the query answers when it was stopped. */
	get failure(): QueryFailure | undefined {
		if (!this.stopped) return undefined;
		const { id } = this;
		return new QueryFailure(
			this.#reason === 'late'
				? { DeadlineExceeded: { execution_id: id } }
				: { Cancelled: { execution_id: id } },
		);
	}

	check(): void {
		const { failure } = this;
		if (failure !== undefined) throw failure;
	}

	cancel(): void {
		this.end('cancelled');
	}

	private end(reason: 'cancelled' | 'late'): void {
		this.#reason ??= reason;
		const interrupt = () => {
			for (const connection of this.#connections) connection.interrupt();
		};
		interrupt();
		this.#again ??= setInterval(interrupt, INTERRUPT_EVERY_MS);
	}

	/** Work on a connection that a stop interrupts. */
	async guard<T>(connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
		this.check();
		this.#connections.add(connection);
		try {
			return await work();
		} finally {
			this.#connections.delete(connection);
		}
	}

	close(): void {
		clearTimeout(this.#deadline);
		clearInterval(this.#again);
	}
}

export class Executions {
	readonly #byId = new Map<string, Execution>();
	/** Cursors live this long after their last use. A fault switch shortens it. */
	cursorLifeMs = KEEP_MS;

	resetCursorLife(): void {
		this.cursorLifeMs = KEEP_MS;
	}

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
			stop: undefined,
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

	/** The page that a cursor of this execution stands for; undefined for a foreign or an expired one. */
	cursor(id: Uint8Array, text: string): (Cursor & { execution: Execution }) | undefined {
		const execution = this.find(id);
		const cursor = execution?.cursors.get(text);
		if (execution === undefined || cursor === undefined) return undefined;
		if (Date.now() - cursor.usedAt >= this.cursorLifeMs) {
			execution.cursors.delete(text);
			return undefined;
		}
		cursor.usedAt = Date.now();
		return { ...cursor, execution };
	}

	finish(execution: Execution, state: ExecutionState, error?: QueryError): void {
		execution.status.state = state;
		let finished = nowMicros();
		// The clock may step back; the status must not say so.
		if (finished < execution.status.started_at_micros) finished = execution.status.started_at_micros;
		execution.status.finished_at_micros = finished;
		execution.status.error = state === 'failed' ? error : undefined;
		execution.touchedAt = Date.now();
	}

	cursorFor(execution: Execution, start: PageStart, snapshot: bigint | undefined): string {
		const text = randomBytes(18).toString('base64url');
		execution.cursors.set(text, { start, snapshot, usedAt: Date.now() });
		if (execution.cursors.size > MAX_CURSORS)
			execution.cursors.delete(execution.cursors.keys().next().value!);
		return text;
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
