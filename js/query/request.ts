import { type Abortable, signalOf } from '../connect/abort.js';
import { type ConsistencyLevel, requireCapability, servesConsistency } from '../connect/capabilities.js';
import type { Context } from '../connect/context.js';
import type { ManagedId } from '../connect/identity.js';
import { CodecError, InvalidError, UnsupportedError } from '../errors/index.js';
import {
	cancelQuery,
	defaultDeadlineMicros,
	newExecutionId,
	type QueryExecutionStatus,
	queryPage,
	queryStatus,
	runQuery,
} from './execution.js';
import { type Filter, type FilterOperator, filterPred } from './filter.js';
import type { AggregateCall, Query, SqlDialect } from './model.js';
import { type QueryResult, type QueryRow, queryResultFieldIndex } from './result.js';
import { type QueryValue, typedValue } from './value.js';

export type QueryTarget =
	| { readonly kind: 'operational'; readonly index: string }
	| {
			readonly kind: 'lakehouse';
			readonly destinationId: ManagedId;
			readonly destinationGeneration: bigint;
			readonly snapshot?: { readonly kind: 'snapshot_id' | 'timestamp_micros'; readonly value: bigint };
	  };

/** What turns an inlined payload into a value. */
export interface PayloadCodec<T> {
	decode(payload: Uint8Array): T;
}

const PAYLOAD_FIELD = '__laser_original_payload';
const WALK_LIMIT = 100;

/**
 * Describes a query; nothing is sent before `fetch`. Result, later pages, status and cancellation belong to one
 * execution, whose id is drawn when the request is made.
 */
export class QueryRequest {
	readonly #context: Context;
	readonly #target: QueryTarget;
	readonly #filters: Filter[] = [];
	readonly #query: Omit<Query, 'target' | 'deadlineMicros' | 'executionId'>;
	readonly executionId: ManagedId;
	#snapshot: { kind: 'snapshot_id' | 'timestamp_micros'; value: bigint } | undefined;
	#limit: number | undefined;
	#maxRows: number | undefined;
	#deadline: { ms: number } | { micros: bigint } | undefined;

	/** @internal */
	constructor(context: Context, target: QueryTarget) {
		this.#context = context;
		this.#target = target;
		this.executionId = newExecutionId(context.driver.now());
		this.#query = {
			byKey: [],
			order: [],
			page: { limit: 0 },
			select: { fields: [], payload: false },
			consistency: 'eventual',
		};
	}

	/** Rows whose field has exactly this value; all of several must hold. */
	whereEq(field: string, value: QueryValue): this {
		this.#query.byKey.push({ field, value: typedValue(value) });
		return this;
	}

	filterEq(field: string, value: QueryValue): this {
		return this.#predicate(field, 'eq', value);
	}

	filterNe(field: string, value: QueryValue): this {
		return this.#predicate(field, 'ne', value);
	}

	filterGt(field: string, value: QueryValue): this {
		return this.#predicate(field, 'gt', value);
	}

	filterGte(field: string, value: QueryValue): this {
		return this.#predicate(field, 'gte', value);
	}

	filterLt(field: string, value: QueryValue): this {
		return this.#predicate(field, 'lt', value);
	}

	filterLte(field: string, value: QueryValue): this {
		return this.#predicate(field, 'lte', value);
	}

	filterIn(field: string, values: readonly QueryValue[]): this {
		return this.#predicate(field, 'in', values);
	}

	/** The text contains this text. */
	filterContains(field: string, text: string): this {
		return this.#predicate(field, 'contains', text);
	}

	filterPrefix(field: string, text: string): this {
		return this.#predicate(field, 'prefix', text);
	}

	/** Several filters must all hold. */
	filter(filter: Filter): this {
		this.#filters.push(filter);
		return this;
	}

	messageType(name: string): this {
		this.#query.messageType = name;
		return this;
	}

	/** Both bounds included, epoch microseconds. */
	timeRange(startMicros: bigint, endMicros: bigint): this {
		this.#query.timeRange = [startMicros, endMicros];
		return this;
	}

	orderAsc(field: string): this {
		this.#query.order.push({ field, dir: 'asc' });
		return this;
	}

	orderDesc(field: string): this {
		this.#query.order.push({ field, dir: 'desc' });
		return this;
	}

	/** Rows of a page, 1 to 1,000; 50 by default. */
	limit(rows: number): this {
		checkCount(rows, 'limit');
		this.#limit = rows;
		return this;
	}

	offset(rows: number): this {
		checkCount(rows, 'offset');
		this.#query.page.offset = rows;
		return this;
	}

	/** Goes on where a page of this execution ended. */
	cursor(cursor: string): this {
		this.#query.page.cursor = cursor;
		return this;
	}

	/** Only these fields; without any, every indexed one. */
	selectFields(...fields: readonly string[]): this {
		this.#query.select.fields.push(...fields);
		return this;
	}

	/** The records' own payloads too, where they were inlined. */
	withPayload(): this {
		this.#query.select.payload = true;
		return this;
	}

	withTotal(): this {
		this.#query.page.wantTotal = true;
		return this;
	}

	distinct(): this {
		this.#query.distinct = true;
		return this;
	}

	fork(id: string): this {
		this.#query.fork = id;
		return this;
	}

	consistency(level: ConsistencyLevel): this {
		this.#query.consistency = level;
		return this;
	}

	/** Served only once the index has applied everything that was published before the query. */
	readYourWrites(): this {
		return this.consistency('read_your_writes');
	}

	/** Ranked text search over all text fields. */
	text(query: string): this {
		this.#query.text = { query };
		return this;
	}

	textIn(field: string, query: string): this {
		this.#query.text = { field, query };
		return this;
	}

	/** The `topK` rows that are nearest to a vector. */
	nearest(embedding: readonly number[], topK: number): this {
		return this.nearestIn('embedding', embedding, topK);
	}

	nearestIn(field: string, embedding: readonly number[], topK: number): this {
		this.#query.vector = { field, embedding, topK };
		return this;
	}

	count(alias = 'count'): this {
		return this.#call({ func: 'count', alias });
	}

	countDistinct(field: string, alias = `count_distinct_${field}`): this {
		return this.#call({ func: 'count_distinct', field, alias });
	}

	sum(field: string, alias = `sum_${field}`): this {
		return this.#call({ func: 'sum', field, alias });
	}

	avg(field: string, alias = `avg_${field}`): this {
		return this.#call({ func: 'avg', field, alias });
	}

	min(field: string, alias = `min_${field}`): this {
		return this.#call({ func: 'min', field, alias });
	}

	max(field: string, alias = `max_${field}`): this {
		return this.#call({ func: 'max', field, alias });
	}

	stdDev(field: string, alias = `std_dev_${field}`): this {
		return this.#call({ func: 'std_dev', field, alias });
	}

	/** `fraction` is 0 to 1. */
	percentile(field: string, fraction: number, alias = `percentile_${field}`): this {
		return this.#call({ func: 'percentile', field, arg: fraction, alias });
	}

	/** Names the last aggregate's column. */
	aggregateAs(alias: string): this {
		const last = this.#query.aggregate?.funcs.at(-1);
		if (last === undefined) throw invalid('aggregateAs needs an aggregate before it', 'aggregate');
		last.alias = alias;
		return this;
	}

	groupBy(...fields: readonly string[]): this {
		this.#aggregate().groupBy.push(...fields);
		return this;
	}

	/** Groups by spans of time; the result has a column `window_start`, epoch microseconds. */
	window(field: string, everyMicros: bigint): this {
		this.#aggregate().window = { field, everyMicros };
		return this;
	}

	having(filter: Filter): this {
		this.#query.having = filter;
		return this;
	}

	rawSql(dialect: SqlDialect, sql: string, params: readonly QueryValue[] = []): this {
		this.#query.rawSql = { dialect, sql, params: params.map(typedValue) };
		return this;
	}

	/** @throws {InvalidError} the target is no lakehouse destination */
	atSnapshot(id: bigint): this {
		return this.#at('snapshot_id', id);
	}

	/** @throws {InvalidError} the target is no lakehouse destination */
	atTimestampMicros(micros: bigint): this {
		return this.#at('timestamp_micros', micros);
	}

	/** From the moment it is sent, at most 25 s, which is also the default. */
	deadline(ms: number): this {
		this.#deadline = { ms };
		return this;
	}

	deadlineMicros(micros: bigint): this {
		this.#deadline = { micros };
		return this;
	}

	/** Of `rows`: no more than this many. */
	maxRows(rows: number): this {
		this.#maxRows = rows;
		return this;
	}

	/**
	 * One page.
	 *
	 * @throws {UnsupportedError} the server does not offer what the query needs; nothing was sent
	 * @throws {InvalidError} the query breaks a rule (nothing was sent), or the reply does
	 * @throws {QueryError} the server's own refusal
	 * @throws {TimeoutError} no answer 2 s after the deadline
	 */
	fetch(options?: Abortable): Promise<QueryResult> {
		return this.#fetchPage(this.#query.page.cursor, this.#limit, options);
	}

	/**
	 * One page after the other, as they are asked for. Later ones belong to the first one's execution and see the rows
	 * as they were then; leaving the loop asks for no more.
	 *
	 * @throws {CommandError} the server has let go of the cursor; pages before it stand
	 */
	async *pages(options?: Abortable): AsyncGenerator<QueryResult, void, undefined> {
		const seen = new Set<string>();
		let page = await this.fetch(options);
		while (true) {
			yield page;
			const { nextCursor } = page.page;
			if (nextCursor === undefined || page.rowCount === 0 || seen.has(nextCursor)) return;
			seen.add(nextCursor);
			page = this.#context.capabilities.query.cursorPaging
				? await queryPage(this.#context, this.executionId, nextCursor, this.#deadlineMicros(), options)
				: await this.#fetchPage(nextCursor, this.#limit, options);
		}
	}

	/** The rows of all pages. */
	fetchAll(options?: Abortable): Promise<readonly QueryRow[]> {
		return this.#walk(Number.POSITIVE_INFINITY, options);
	}

	/**
	 * Rows of as many pages as `maxRows` asks for.
	 *
	 * @throws {InvalidError} without `maxRows`
	 */
	async rows(options?: Abortable): Promise<readonly QueryRow[]> {
		if (this.#maxRows === undefined) throw invalid('rows() needs maxRows(n) before it', 'argument');
		return this.#walk(this.#maxRows, options);
	}

	/** The payloads of one page, decoded. */
	async fetchTyped<T>(codec: PayloadCodec<T>, options?: Abortable): Promise<T[]> {
		this.withPayload();
		const result = await this.fetch(options);
		const index = queryResultFieldIndex(result, PAYLOAD_FIELD);
		if (index === undefined) throw invalid('the result has no payload column', 'argument');
		return result.rows.flatMap((row) => {
			const value = row.values[index];
			if (value?.kind !== 'binary') return [];
			try {
				return [codec.decode(value.value)];
			} catch (cause) {
				throw new CodecError(
					'query: a payload does not decode',
					{ surface: 'query', operation: 'query' },
					{ cause },
				);
			}
		});
	}

	async fetchOne<T>(codec: PayloadCodec<T>, options?: Abortable): Promise<T | undefined> {
		this.limit(1);
		return (await this.fetchTyped(codec, options))[0];
	}

	/** How far this execution is. */
	status(options?: Abortable): Promise<QueryExecutionStatus> {
		return queryStatus(this.#context, this.executionId, options);
	}

	cancel(options?: Abortable): Promise<QueryExecutionStatus> {
		return cancelQuery(this.#context, this.executionId, options);
	}

	async #walk(most: number, options: Abortable): Promise<readonly QueryRow[]> {
		const rows: QueryRow[] = [];
		const seen = new Set<string>();
		// A search or an aggregate is one page by nature.
		const single = this.#query.vector !== undefined || this.#query.aggregate !== undefined;
		let cursor = this.#query.page.cursor;
		while (rows.length < most) {
			const left = Math.min(this.#limit ?? WALK_LIMIT, most - rows.length);
			const result = await this.#fetchPage(cursor, left, options);
			for (const row of result.rows) rows.push(row);
			cursor = result.page.nextCursor;
			if (single || result.rowCount === 0 || cursor === undefined || seen.has(cursor)) break;
			seen.add(cursor);
		}
		return rows.length > most ? rows.slice(0, most) : rows;
	}

	async #fetchPage(
		cursor: string | undefined,
		limit: number | undefined,
		options: Abortable,
	): Promise<QueryResult> {
		this.#requireServed();
		const { offset, wantTotal } = this.#query.page;
		const [only, ...more] = this.#filters;
		const filter = more.length === 0 ? only : { all: this.#filters };
		return runQuery(
			this.#context,
			{
				...this.#query,
				executionId: this.executionId.toBytes(),
				target: this.#wireTarget(),
				deadlineMicros: this.#deadlineMicros(),
				...(filter === undefined ? {} : { filter }),
				page: {
					limit: limit ?? 50,
					...(cursor !== undefined
						? { cursor, ...(cursor === this.#query.page.cursor && offset !== undefined ? { offset } : {}) }
						: { offset: offset ?? 0 }),
					...(wantTotal ? { wantTotal } : {}),
				},
			},
			signalOf(options),
		);
	}

	#requireServed(): void {
		const { capabilities } = this.#context;
		requireCapability(capabilities.query.available, 'query', 'query');
		if (this.#query.text !== undefined) requireCapability(capabilities.query.keyword, 'query', 'keyword');
		if (!servesConsistency(capabilities, this.#query.consistency)) {
			throw new UnsupportedError(`the server does not serve ${this.#query.consistency} reads`, {
				surface: 'query',
				feature: 'consistency',
			});
		}
	}

	#deadlineMicros(): bigint {
		const given = this.#deadline;
		if (given === undefined) return defaultDeadlineMicros(this.#context.driver.now());
		if ('micros' in given) return given.micros;
		if (!(given.ms > 0)) throw invalid('a deadline lies ahead', 'deadline');
		return defaultDeadlineMicros(this.#context.driver.now(), given.ms);
	}

	#wireTarget(): unknown {
		const target = this.#target;
		if (target.kind === 'operational') return target;
		return {
			...target,
			destinationId: target.destinationId.toBytes(),
			...(this.#snapshot === undefined ? {} : { snapshot: this.#snapshot }),
		};
	}

	#at(kind: 'snapshot_id' | 'timestamp_micros', value: bigint): this {
		if (this.#target.kind !== 'lakehouse')
			throw invalid('only a lakehouse destination has snapshots', 'snapshot');
		this.#snapshot = { kind, value };
		return this;
	}

	#predicate(field: string, op: FilterOperator, value: QueryValue): this {
		return this.filter(filterPred(field, op, value));
	}

	#call(call: AggregateCall): this {
		this.#aggregate().funcs.push(call);
		return this;
	}

	#aggregate(): NonNullable<Query['aggregate']> {
		this.#query.aggregate ??= { groupBy: [], funcs: [] };
		return this.#query.aggregate;
	}
}

function invalid(message: string, rule: string): InvalidError {
	return new InvalidError(`query: ${message}`, { rule });
}

/** What is no count at all is refused here; the bounds of a page are the core's, when it is fetched. */
function checkCount(rows: unknown, name: string): void {
	if (!Number.isInteger(rows) || (rows as number) < 0 || (rows as number) > Number.MAX_SAFE_INTEGER) {
		throw new InvalidError(`${name}: not a count of rows`, { rule: 'page_limit' });
	}
}
