/** Runs queries on operational indexes: consistency, deadline, paging, status and cancel around one planned SQL query. */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import type { Binding } from './control_model.js';
import type { Database } from './database.js';
import { type Execution, Executions, nowMicros } from './executions.js';
import { type Backend, ENGINE, LIMITS } from './hello.js';
import { type IndexTable, tableName } from './index_model.js';
import type { IndexStore } from './index_store.js';
import type { Projector } from './projector.js';
import { SchemaMoved, sizeOf, toTypedValue } from './query_cells.js';
import { makePlan, type PageStart, type Plan } from './query_plan.js';
import type { Bindings } from './query_predicate.js';
import {
	type ExecutionStatus,
	type FrontierEntry,
	QueryFailure,
	type QueryResult,
	type Row,
} from './query_reply.js';
import type { PageEnvelope, Query } from './query_request.js';
import { invalid, Refusal } from './wire/refusal.js';

/** How long a read-your-writes query waits for the projector before it answers stale. */
const FRESHNESS_WAIT_MS = 5000;
const MAX_ATTEMPTS = 5;
const SCHEMA_PAUSE_MS = 5;

export class QueryEngine {
	readonly #executions = new Executions();
	#running = 0;

	constructor(
		private readonly database: Database,
		private readonly indexes: IndexStore,
		private readonly projector: Projector,
		private readonly backend: Backend,
	) {}

	async query(query: Query): Promise<QueryResult> {
		if (query.page.cursor === undefined) {
			return this.run(this.#executions.start(query), query, undefined);
		}
		const { execution, start } = this.cursor(query.execution_id, query.page.cursor);
		const page = { ...execution.query.page, limit: query.page.limit, wantTotal: query.page.wantTotal };
		return this.run(execution, { ...execution.query, page, deadline_micros: query.deadline_micros }, start);
	}

	async page(request: PageEnvelope): Promise<QueryResult> {
		const { execution, start } = this.cursor(request.execution_id, request.cursor);
		return this.run(execution, { ...execution.query, deadline_micros: request.deadline_micros }, start);
	}

	status(id: Uint8Array): ExecutionStatus | undefined {
		return this.#executions.find(id)?.status;
	}

	cancel(id: Uint8Array): ExecutionStatus | undefined {
		const execution = this.#executions.find(id);
		if (execution === undefined) return undefined;
		if (execution.status.finished_at_micros === undefined) {
			execution.cancelled = true;
			execution.interrupt?.();
			this.#executions.finish(execution, 'cancelled');
		}
		return execution.status;
	}

	private cursor(id: Uint8Array, cursor: string): { execution: Execution; start: PageStart } {
		const execution = this.#executions.find(id);
		const start = execution?.cursors.get(cursor);
		if (execution === undefined || start === undefined) {
			return invalid('page_cursor', 'query.page.cursor', 'unknown here or expired');
		}
		return { execution, start };
	}

	private async run(execution: Execution, query: Query, start: PageStart | undefined): Promise<QueryResult> {
		const { status } = execution;
		execution.cancelled = false;
		status.state = 'planning';
		status.finished_at_micros = undefined;
		status.error = undefined;
		if (this.#running >= LIMITS.concurrent) {
			const error = {
				ResourceLimit: {
					resource: 'concurrent queries',
					observed: BigInt(this.#running),
					limit: BigInt(LIMITS.concurrent),
				},
			};
			this.#executions.finish(execution, 'failed', error);
			throw new QueryFailure(error);
		}
		this.#running += 1;
		try {
			const result = await this.answer(execution, query, start);
			// A cancel that came while the last rows were read counts.
			if (execution.cancelled) throw new QueryFailure({ Cancelled: { execution_id: execution.id } });
			status.produced_bytes += result.context.produced_bytes;
			status.scanned_bytes += result.context.scanned_bytes;
			status.row_count += result.context.row_count;
			this.#executions.finish(execution, 'completed');
			return result;
		} catch (error) {
			const failure = this.failureOf(error, execution);
			if (failure instanceof QueryFailure) {
				if ('Cancelled' in failure.error) this.#executions.finish(execution, 'cancelled');
				else if ('DeadlineExceeded' in failure.error) this.#executions.finish(execution, 'expired');
				else this.#executions.finish(execution, 'failed', failure.error);
			} else {
				this.#executions.finish(execution, 'failed', { Backend: failure.message });
			}
			throw failure;
		} finally {
			this.#running -= 1;
		}
	}

	private failureOf(error: unknown, execution: Execution): Refusal | QueryFailure {
		if (error instanceof Refusal || error instanceof QueryFailure) return error;
		if (execution.cancelled) return new QueryFailure({ Cancelled: { execution_id: execution.id } });
		return new QueryFailure({ Backend: error instanceof Error ? error.message : String(error) });
	}

	private async answer(
		execution: Execution,
		query: Query,
		start: PageStart | undefined,
	): Promise<QueryResult> {
		const began = process.hrtime.bigint();
		if (query.target.kind !== 'operational') throw new QueryFailure({ Unsupported: 'lakehouse targets' });
		const name = query.target.index;
		const late = () => new QueryFailure({ DeadlineExceeded: { execution_id: execution.id } });
		if (query.deadline_micros <= nowMicros()) throw late();
		if (query.consistency === 'strong') throw new QueryFailure({ Unsupported: 'consistency strong' });
		const index = this.indexes.get(name);
		if (index === undefined) throw new QueryFailure({ IndexNotFound: name });
		const deadlineMs = Number(query.deadline_micros / 1000n);
		if (query.consistency === 'read_your_writes') await this.fresh(name, query, execution, late);

		execution.status.state = 'running';
		const snapshot = start ?? { snapshot: 2n ** 63n - 1n, skip: query.page.offset ?? 0n };
		for (let attempt = 1; ; attempt++) {
			try {
				const read = await this.read(index, query, snapshot, execution, deadlineMs, late);
				return this.result(index, query, start, execution, read, began);
			} catch (error) {
				// Retried only while the table's columns change under the query.
				const moved = error instanceof SchemaMoved || /altered|conflict|Binder Error/i.test(String(error));
				if (!moved || attempt >= MAX_ATTEMPTS) throw error;
				await new Promise((resolve) => setTimeout(resolve, SCHEMA_PAUSE_MS));
			}
		}
	}

	private async fresh(
		name: string,
		query: Query,
		execution: Execution,
		late: () => QueryFailure,
	): Promise<void> {
		const until = Math.min(Number(query.deadline_micros / 1000n), Date.now() + FRESHNESS_WAIT_MS);
		const ofIndex = (binding: Binding) => binding.index === name;
		if (await this.projector.caughtUp(ofIndex, until, () => execution.cancelled)) return;
		if (execution.cancelled) throw new QueryFailure({ Cancelled: { execution_id: execution.id } });
		if (query.deadline_micros <= nowMicros()) throw late();
		const { applied, required } = this.projector.furthestBehind(name);
		throw new QueryFailure({ Stale: { what: name, applied, required } });
	}

	private async read(
		index: IndexTable,
		query: Query,
		start: PageStart,
		execution: Execution,
		deadlineMs: number,
		late: () => QueryFailure,
	): Promise<ReadPage> {
		let expired = false;
		let timer: NodeJS.Timeout | undefined;
		try {
			return await this.database.read(async (db) => {
				execution.interrupt = () => db.interrupt();
				timer = setTimeout(
					() => {
						expired = true;
						db.interrupt();
					},
					Math.min(Math.max(0, deadlineMs - Date.now()), 2_147_483_647),
				);
				const [highest] = await all(db, `SELECT coalesce(max(_seq), 0), count(*) FROM ${tableName(index)}`);
				let snapshot = highest![0] as bigint;
				if (start.snapshot < snapshot) snapshot = start.snapshot;
				const plan = makePlan(index, query, { ...start, snapshot });
				const rows = await all(db, plan.sql, plan.params);
				let total: bigint | undefined;
				if (query.page.wantTotal) total = (await all(db, plan.totalSql, plan.totalParams))[0]![0] as bigint;
				if (execution.cancelled) throw new QueryFailure({ Cancelled: { execution_id: execution.id } });
				return {
					plan,
					rows,
					total,
					snapshot,
					scanned: highest![1] as bigint,
					frontier: await this.frontier(db, index),
				};
			});
		} catch (error) {
			if (expired) throw late();
			throw error;
		} finally {
			clearTimeout(timer);
			execution.interrupt = undefined;
		}
	}

	private result(
		index: IndexTable,
		query: Query,
		start: PageStart | undefined,
		execution: Execution,
		read: ReadPage,
		began: bigint,
	): QueryResult {
		const { plan, total } = read;
		const fields = plan.columns.map((column) => column.field);
		const more = read.rows.length > query.page.limit;
		let produced = 0;
		const rows = read.rows.slice(0, query.page.limit).map((cells): Row => {
			const values = fields.map((field, i) => toTypedValue(cells[i]!, field));
			for (const value of values) produced += sizeOf(value) + 16;
			return { values };
		});
		if (produced > Number(LIMITS.bytes)) {
			throw new QueryFailure({ TooLarge: { what: 'page', size: BigInt(produced), cap: LIMITS.bytes } });
		}
		// An aggregate is one page by nature: groups past the limit are cut off and said to be.
		const hasMore = more && !plan.aggregate;
		return {
			fields,
			rows,
			page: {
				offset: start === undefined ? (query.page.offset ?? 0n) : undefined,
				limit: BigInt(query.page.limit),
				total,
				has_more: hasMore,
				next_cursor: hasMore
					? this.#executions.cursorFor(execution, nextStart(read, query, start))
					: undefined,
			},
			context: {
				execution_id: query.execution_id,
				engine: ENGINE,
				resolved_target: {
					kind: 'operational',
					index: index.name,
					backend_resource_id: this.backend.resourceId,
					backend_generation: this.backend.generation,
					runtime_configuration_revision: this.backend.revision,
				},
				requested_consistency: query.consistency,
				delivered_consistency: query.consistency,
				truncated: more && plan.aggregate,
				elapsed_micros: (process.hrtime.bigint() - began) / 1000n,
				scanned_bytes: read.scanned * BigInt(8 * Math.max(1, index.columns.length)),
				produced_bytes: BigInt(produced),
				row_count: BigInt(rows.length),
				frontier: read.frontier.length > 0 ? read.frontier : undefined,
			},
		};
	}

	/** What the snapshot of the rows had applied, by source partition. */
	private async frontier(db: DuckDBConnection, index: IndexTable): Promise<FrontierEntry[]> {
		const positions = await all(
			db,
			`SELECT s.stream, s.topic, p.partition_id, p.topic_created_at, p.next
			 FROM plane_progress p JOIN plane_source s ON s.id = p.source
			 WHERE p.index_number = ${index.number} AND p.next > 0 ORDER BY ALL`,
		);
		return positions.map(([stream, topic, partition, createdAt, next]) => ({
			stream: stream as string,
			topic: topic as string,
			partition_id: BigInt(partition as number),
			topic_created_at_micros: createdAt as bigint,
			applied_offset: (next as bigint) - 1n,
		}));
	}
}

interface ReadPage {
	plan: Plan;
	rows: DuckDBValue[][];
	total: bigint | undefined;
	snapshot: bigint;
	scanned: bigint;
	frontier: FrontierEntry[];
}

function nextStart(read: ReadPage, query: Query, start: PageStart | undefined): PageStart {
	const { plan, snapshot } = read;
	const taken = query.page.limit;
	if (plan.orderKeys === undefined) {
		return { snapshot, skip: (start?.skip ?? query.page.offset ?? 0n) + BigInt(taken) };
	}
	const hidden = read.rows[taken - 1]!.slice(plan.columns.length);
	const keys = hidden.slice(0, plan.orderKeys);
	return { snapshot, skip: 0n, after: { keys, sequence: hidden[plan.orderKeys] as bigint } };
}

async function all(db: DuckDBConnection, sql: string, params?: Bindings): Promise<DuckDBValue[][]> {
	const reader =
		params === undefined
			? await db.runAndReadAll(sql)
			: await db.runAndReadAll(sql, params.values, params.types);
	return reader.getRows();
}
