/** Runs queries: consistency, deadline, paging, status and cancel around one read of one target. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { aggregatePlan } from './aggregate_plan.js';
import { type Answer, all, type PageStart, ReplyBudget, readPlan } from './answer.js';
import { SchemaMoved } from './column_type.js';
import { type Execution, Executions, Stop } from './executions.js';
import { ENGINE, LIMITS, SQL_DIALECT } from './hello.js';
import { type ExecutionStatus, encodeOk, QueryFailure, type QueryResult } from './query_reply.js';
import type { PageEnvelope, Query } from './query_request.js';
import { rankByDistance, rankByText, readHits } from './ranked_search.js';
import { readKept, runSql } from './raw_sql.js';
import { rowPlan } from './row_plan.js';
import { Sandboxes } from './sql_sandbox.js';
import type { Evidence, Target, TargetSource } from './target.js';
import type { TokenSource } from './token_store.js';
import { invalid, Refusal } from './wire/refusal.js';

const MAX_ATTEMPTS = 5;
const SCHEMA_PAUSE_MS = 5;
const EVERYTHING = 2n ** 63n - 1n;

export interface EncodedReply {
	result: QueryResult;
	bytes: Uint8Array;
}

export class QueryEngine {
	readonly executions = new Executions();
	/** Enforced here; fault switches lower them. */
	limits = advertised();
	readonly #sandboxes = new Sandboxes();
	#running = 0;

	constructor(private readonly targets: Record<Query['target']['kind'], TargetSource>) {}

	async query(query: Query): Promise<EncodedReply> {
		if (query.page.cursor === undefined) {
			return this.run(this.executions.start(query), query, undefined, undefined);
		}
		const { limit, wantTotal } = query.page;
		return this.later(query.execution_id, query.page.cursor, query.deadline_micros, { limit, wantTotal });
	}

	async page(request: PageEnvelope): Promise<EncodedReply> {
		return this.later(request.execution_id, request.cursor, request.deadline_micros, {});
	}

	private later(
		id: Uint8Array,
		text: string,
		deadline_micros: bigint,
		change: Partial<Query['page']>,
	): Promise<EncodedReply> {
		const cursor = this.executions.cursor(id, text);
		if (cursor === undefined) return invalid('page_cursor', 'query.page.cursor', 'unknown here or expired');
		const { query } = cursor.execution;
		const page = { ...query.page, ...change };
		return this.run(cursor.execution, { ...query, page, deadline_micros }, cursor.start, cursor.snapshot);
	}

	status(id: Uint8Array): ExecutionStatus | undefined {
		return this.executions.find(id)?.status;
	}

	cancel(id: Uint8Array): ExecutionStatus | undefined {
		const execution = this.executions.find(id);
		if (execution === undefined) return undefined;
		if (execution.status.finished_at_micros === undefined) {
			execution.stop?.cancel();
			this.executions.finish(execution, 'cancelled');
		}
		return execution.status;
	}

	private async run(
		execution: Execution,
		query: Query,
		start: PageStart | undefined,
		snapshot: bigint | undefined,
	): Promise<EncodedReply> {
		const { status } = execution;
		status.state = 'planning';
		status.finished_at_micros = undefined;
		status.error = undefined;
		if (this.#running >= this.limits.concurrent) {
			const observed = BigInt(this.#running + 1);
			const limit = BigInt(this.limits.concurrent);
			const error = { ResourceLimit: { resource: 'concurrent queries', observed, limit } };
			this.executions.finish(execution, 'failed', error);
			throw new QueryFailure(error);
		}
		this.#running += 1;
		const stop = new Stop(execution.id, query.deadline_micros);
		execution.stop = stop;
		try {
			stop.check();
			const reply = await this.answer(execution, query, start, snapshot, stop);
			// A cancel that came while the last rows were read counts.
			stop.check();
			const { context } = reply.result;
			status.produced_bytes += context.produced_bytes;
			status.scanned_bytes += context.scanned_bytes;
			status.row_count += context.row_count;
			this.executions.finish(execution, 'completed');
			return reply;
		} catch (error) {
			throw this.failed(error, execution, stop);
		} finally {
			this.#running -= 1;
			stop.close();
			execution.stop = undefined;
		}
	}

	private failed(error: unknown, execution: Execution, stop: Stop): Refusal | QueryFailure {
		const finish = this.executions.finish.bind(this.executions, execution);
		if (error instanceof Refusal) {
			finish('failed', { Backend: error.message });
			return error;
		}
		const failure =
			error instanceof QueryFailure ? error : (stop.failure ?? new QueryFailure({ Backend: textOf(error) }));
		if ('Cancelled' in failure.error) finish('cancelled');
		else if ('DeadlineExceeded' in failure.error) finish('expired');
		else finish('failed', failure.error);
		return failure;
	}

	private async answer(
		execution: Execution,
		query: Query,
		start: PageStart | undefined,
		snapshot: bigint | undefined,
		stop: Stop,
	): Promise<EncodedReply> {
		const began = process.hrtime.bigint();
		const target = await this.targets[query.target.kind].open(query, stop, snapshot);
		for (let attempt = 1; ; attempt++) {
			try {
				const budget = new ReplyBudget(this.limits.replyBytes);
				const { answer, evidence } = await this.read(target, execution, query, start, stop, budget);
				const result = this.result(target, execution, query, start, answer, evidence, budget, began);
				const bytes = encodeOk(result);
				if (bytes.length > budget.cap) throw budget.exceeded(bytes.length);
				return { result, bytes };
			} catch (error) {
				// Retried only while the table's columns change under the query.
				const moved = error instanceof SchemaMoved || /altered|conflict|Binder Error/i.test(textOf(error));
				if (!moved || error instanceof Refusal || attempt >= MAX_ATTEMPTS || stop.stopped) throw error;
				await new Promise((resolve) => setTimeout(resolve, SCHEMA_PAUSE_MS));
			}
		}
	}

	private async read(
		target: Target,
		execution: Execution,
		query: Query,
		start: PageStart | undefined,
		stop: Stop,
		budget: ReplyBudget,
	): Promise<{ answer: Answer; evidence: Evidence }> {
		const running = () => {
			if (execution.status.finished_at_micros === undefined) execution.status.state = 'running';
		};
		const tokens = query.text !== undefined && start === undefined ? await target.tokens() : undefined;
		return target.read((db) =>
			stop.guard(db, async () => {
				const { relation } = target;
				const [bounds] = await all(db, `SELECT coalesce(max(_seq), 0), count(*) FROM ${relation.sql}`);
				const [last, scannedRows] = bounds as [bigint, bigint];
				const limits = [
					last,
					tokens?.highest ?? EVERYTHING,
					start?.kind === 'rows' ? start.highest : EVERYTHING,
				];
				const highest = limits.reduce((a, b) => (a < b ? a : b));
				if (query.raw_sql === undefined) running();
				const found = await this.find(db, target, query, start, highest, tokens, stop, budget, running);
				stop.check();
				return { answer: { ...found, scannedRows }, evidence: await target.evidence(db) };
			}),
		);
	}

	private async find(
		db: DuckDBConnection,
		target: Target,
		query: Query,
		start: PageStart | undefined,
		highest: bigint,
		tokens: TokenSource | undefined,
		stop: Stop,
		budget: ReplyBudget,
		running: () => void,
	): Promise<Omit<Answer, 'scannedRows'>> {
		const { relation } = target;
		const { page } = query;
		const first = page.offset ?? 0n;
		const place = first > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(first);
		if (query.raw_sql !== undefined) {
			const raw = query.raw_sql;
			const kept =
				start?.kind === 'kept'
					? start
					: await this.#sandboxes.use({ ...target.sql, relation }, db, (sandbox) =>
							stop.guard(sandbox, () => runSql(sandbox, raw, page.wantTotal, running)),
						);
			const shown = readKept(start === undefined ? { ...kept, at: place } : kept, page.limit);
			for (const row of shown.rows) budget.take(row);
			return shown;
		}
		if (query.vector !== undefined || query.text !== undefined) {
			const ranked =
				start?.kind === 'ranked'
					? start
					: query.vector === undefined
						? await rankByText(db, relation, query, highest, tokens)
						: await rankByDistance(db, relation, query, highest);
			if (start === undefined) ranked.at = place;
			stop.check();
			return readHits(db, relation, query, ranked, budget);
		}
		const rowStart = start?.kind === 'rows' ? { ...start, highest } : { highest, skip: first };
		const aggregate = query.aggregate !== undefined;
		const plan = aggregate ? aggregatePlan(relation, query, rowStart) : rowPlan(relation, query, rowStart);
		const { rows, more, next } = await readPlan(db, plan, page.limit, highest, budget);
		stop.check();
		const total = page.wantTotal
			? ((await all(db, plan.totalSql, plan.totalParams))[0]![0] as bigint)
			: undefined;
		return {
			fields: plan.columns.map((column) => column.field),
			rows,
			total,
			next,
			// An aggregate is one page by nature: groups past the limit are cut off and said to be.
			truncated: more && aggregate,
		};
	}

	private result(
		target: Target,
		execution: Execution,
		query: Query,
		start: PageStart | undefined,
		answer: Answer,
		evidence: Evidence,
		budget: ReplyBudget,
		began: bigint,
	): QueryResult {
		const { fields, rows, next, total } = answer;
		if (next !== undefined && start === undefined) freeze(execution, fields);
		return {
			fields,
			rows,
			page: {
				offset: start === undefined ? (query.page.offset ?? 0n) : undefined,
				limit: BigInt(query.page.limit),
				total: query.page.wantTotal ? total : undefined,
				has_more: next !== undefined,
				next_cursor:
					next === undefined ? undefined : this.executions.cursorFor(execution, next, target.snapshot),
			},
			context: {
				execution_id: query.execution_id,
				engine: query.raw_sql === undefined ? ENGINE : { ...ENGINE, dialect: SQL_DIALECT },
				resolved_target: evidence.resolved_target,
				requested_consistency: query.consistency,
				delivered_consistency: query.consistency,
				boundary: evidence.boundary,
				checkpoint_revision: evidence.checkpoint_revision,
				global_state_revision: evidence.global_state_revision,
				truncated: answer.truncated,
				elapsed_micros: (process.hrtime.bigint() - began) / 1000n,
				scanned_bytes: answer.scannedRows * BigInt(8 * Math.max(1, target.relation.columns.length)),
				produced_bytes: BigInt(budget.used),
				row_count: BigInt(rows.length),
				frontier: evidence.frontier,
			},
		};
	}

	resetLimits(): void {
		this.limits = advertised();
	}

	async close(): Promise<void> {
		await this.#sandboxes.close();
	}
}

function advertised(): { concurrent: number; replyBytes: number } {
	return { concurrent: LIMITS.concurrent, replyBytes: Number(LIMITS.bytes) };
}

/** Later pages have the fields of the first one, whatever columns the index gets meanwhile. */
function freeze(execution: Execution, fields: QueryResult['fields']): void {
	const { query } = execution;
	if (query.aggregate !== undefined || query.raw_sql !== undefined) return;
	execution.query = { ...query, select: { fields: fields.map((field) => field.name), payload: false } };
}

function textOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
