/** Query requests (contract 10.1 to 10.6): read, then checked rule by rule. */
import { asInteger, asText, Fields, variantOf } from './wire/fields.js';
import { hasControl, plainName, trimmedName, utf8Length } from './wire/names.js';
import { codec, invalid } from './wire/refusal.js';
import { I64, readTypedValue, type TypedValue } from './wire/typed_value.js';

export const CONSISTENCIES = ['eventual', 'read_your_writes', 'strong'] as const;
export type Consistency = (typeof CONSISTENCIES)[number];
export const OPS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'contains', 'prefix'] as const;
export type Op = (typeof OPS)[number];
export const FUNCS = [
	'count',
	'count_distinct',
	'sum',
	'avg',
	'min',
	'max',
	'percentile',
	'std_dev',
] as const;
export type Func = (typeof FUNCS)[number];

export type Filter =
	| { all: Filter[] }
	| { any: Filter[] }
	| { not: Filter }
	| { pred: { field: string; op: Op; value: TypedValue } };

export type Target =
	| { kind: 'operational'; index: string }
	| {
			kind: 'lakehouse';
			destination_id: Uint8Array;
			destination_generation: bigint;
			snapshot: SnapshotSelector | undefined;
	  };

export interface SnapshotSelector {
	kind: 'snapshot_id' | 'timestamp_micros';
	value: bigint;
}

export interface VectorSearch {
	field: string;
	embedding: number[];
	topK: number;
}

export interface TextSearch {
	/** Without a field, every text field of the target. */
	field: string | undefined;
	query: string;
}

export interface RawSql {
	dialect: string;
	sql: string;
	params: TypedValue[];
}

export interface PageRequest {
	limit: number;
	offset: bigint | undefined;
	cursor: string | undefined;
	wantTotal: boolean;
}

export interface AggCall {
	func: Func;
	field: string | undefined;
	arg: number | undefined;
	alias: string;
}

export interface Aggregate {
	group_by: string[];
	funcs: AggCall[];
	window: { field: string; every_micros: bigint } | undefined;
}

export interface Query {
	execution_id: Uint8Array;
	target: Target;
	deadline_micros: bigint;
	by_key: { field: string; value: TypedValue }[];
	message_type: string | undefined;
	time_range: [bigint, bigint] | undefined;
	filter: Filter | undefined;
	vector: VectorSearch | undefined;
	text: TextSearch | undefined;
	order: { field: string; dir: 'asc' | 'desc' }[];
	page: PageRequest;
	aggregate: Aggregate | undefined;
	having: Filter | undefined;
	distinct: boolean;
	select: { fields: string[]; payload: boolean };
	fork: string | undefined;
	raw_sql: RawSql | undefined;
	consistency: Consistency;
}

const MAX_LIST = 4096;

function name(text: string, path: string): string {
	return trimmedName(text, 'query_name', path);
}

export function isZero(id: Uint8Array): boolean {
	return id.every((byte) => byte === 0);
}

export function readQueryEnvelope(item: unknown): { v: bigint; query: () => Query } {
	const fields = Fields.of(item, '');
	return { v: fields.u32('v'), query: () => readQuery(fields.child('query')) };
}

function readQuery(f: Fields): Query {
	const query: Query = {
		execution_id: f.id('execution_id'),
		target: readTarget(f.child('target')),
		deadline_micros: f.u64('deadline_micros'),
		by_key: f.or('by_key', [], (x, k) =>
			x.list(k, (entry, p) => {
				const key = Fields.of(entry, p);
				return {
					field: name(key.text('field'), p),
					value: readTypedValue(key.required('value'), `${p}.value`),
				};
			}),
		),
		message_type: f.optional('message_type', (x, k) => name(x.text(k), x.at(k))),
		time_range: f.optional('time_range', readTimeRange),
		filter: f.optional('filter', (x, k) => readFilter(x.required(k), x.at(k))),
		vector: f.optional('vector', (x, k) => readVector(x.child(k))),
		text: f.optional('text', (x, k) => readText(x.child(k))),
		order: f.or('order', [], (x, k) =>
			x.list(k, (entry, p) => {
				const key = Fields.of(entry, p);
				return {
					field: name(key.text('field'), p),
					dir: key.or('dir', 'asc' as 'asc' | 'desc', (y, d) => y.oneOf(d, ['asc', 'desc'])),
				};
			}),
		),
		page: f.has('page') ? readPage(f.child('page')) : defaultPage(),
		aggregate: f.optional('aggregate', (x, k) => readAggregate(x.child(k))),
		having: f.optional('having', (x, k) => readFilter(x.required(k), x.at(k))),
		distinct: f.or('distinct', false, (x, k) => x.bool(k)),
		select: f.has('select') ? readSelect(f.child('select')) : { fields: [], payload: false },
		fork: f.optional('fork', (x, k) => x.text(k)),
		raw_sql: f.optional('raw_sql', (x, k) => readRawSql(x.child(k))),
		consistency: f.or('consistency', 'eventual' as Consistency, (x, k) => x.oneOf(k, CONSISTENCIES)),
	};
	checkQuery(query);
	return query;
}

function checkQuery(query: Query): void {
	if (isZero(query.execution_id)) invalid('execution_id', 'query.execution_id');
	if (query.deadline_micros === 0n) invalid('deadline', 'query.deadline_micros');
	if (query.target.kind === 'lakehouse' && query.fork !== undefined) invalid('lakehouse_fork', 'query.fork');
	for (const [key, list] of Object.entries({
		by_key: query.by_key,
		order: query.order,
		select: query.select.fields,
	})) {
		if (list.length > MAX_LIST) invalid('query_name', `query.${key}`, 'too many entries');
	}
	if (query.having !== undefined && query.aggregate === undefined) invalid('having', 'query.having');
	if (query.aggregate !== undefined && (query.select.fields.length > 0 || query.select.payload)) {
		invalid('aggregate_select', 'query.select');
	}
	const plain =
		query.by_key.length === 0 &&
		query.message_type === undefined &&
		query.time_range === undefined &&
		query.filter === undefined &&
		query.vector === undefined &&
		query.text === undefined &&
		query.order.length === 0 &&
		query.aggregate === undefined &&
		query.having === undefined &&
		!query.distinct &&
		query.select.fields.length === 0 &&
		!query.select.payload;
	if (query.raw_sql !== undefined && !plain) invalid('raw_sql_exclusive', 'query.raw_sql');
}

function readTarget(f: Fields): Target {
	const kind = f.text('kind');
	if (kind === 'operational') return { kind, index: name(f.text('index'), f.at('index')) };
	if (kind !== 'lakehouse') codec('unknown_variant', f.at('kind'), kind);
	const target: Target & { kind: 'lakehouse' } = {
		kind: 'lakehouse',
		destination_id: f.id('destination_id'),
		destination_generation: f.u64('destination_generation'),
		snapshot: undefined,
	};
	if (isZero(target.destination_id) || target.destination_generation === 0n)
		invalid('target_identity', f.path);
	if (f.has('snapshot')) {
		const snapshot = f.child('snapshot');
		const kind = snapshot.oneOf('kind', ['snapshot_id', 'timestamp_micros']);
		const value = asInteger(snapshot.required('value'), snapshot.at('value'), ...I64);
		if (value <= 0n) invalid('snapshot', snapshot.at('value'));
		target.snapshot = { kind, value };
	}
	return target;
}

function readTimeRange(f: Fields, key: string): [bigint, bigint] {
	const bounds = f.list(key, (entry, p) => Fields.of({ at: entry }, p).u64('at'));
	if (bounds.length !== 2) codec('wrong_type', f.at(key), 'two entries expected');
	if (bounds[0]! >= bounds[1]!) invalid('time_range', f.at(key));
	return [bounds[0]!, bounds[1]!];
}

export function readFilter(item: unknown, path: string): Filter {
	const budget = { nodes: 4096 };
	return filterNode(item, path, 1, budget);
}

function filterNode(item: unknown, path: string, depth: number, budget: { nodes: number }): Filter {
	if (depth > 64) invalid('filter_depth', path);
	budget.nodes -= 1;
	if (budget.nodes < 0) invalid('filter_size', path);
	const { name: variant, data } = variantOf(item, path);
	const at = `${path}.${variant}`;
	switch (variant) {
		case 'all':
		case 'any': {
			if (!Array.isArray(data)) codec('wrong_type', at, 'array expected');
			const nodes = (data as unknown[]).map((entry, i) =>
				filterNode(entry, `${at}[${i}]`, depth + 1, budget),
			);
			if (nodes.length === 0) invalid('filter_empty', at);
			return variant === 'all' ? { all: nodes } : { any: nodes };
		}
		case 'not':
			return { not: filterNode(data, at, depth + 1, budget) };
		case 'pred': {
			const f = Fields.of(data, at);
			const pred = {
				field: name(f.text('field'), f.at('field')),
				op: f.oneOf('op', OPS),
				value: readTypedValue(f.required('value'), f.at('value')),
			};
			if (pred.op === 'in' && (pred.value.kind !== 'list' || pred.value.value.length === 0)) {
				invalid('filter_in', at);
			}
			if (pred.op === 'prefix' && pred.value.kind !== 'string') invalid('filter_prefix', at);
			return { pred };
		}
		default:
			return codec('unknown_variant', path, variant);
	}
}

function readVector(f: Fields): VectorSearch {
	const field = plainName(f.text('field'), 'vector', f.at('field'));
	const embedding = f.list('embedding', (entry, p) => {
		if (typeof entry !== 'number') codec('wrong_type', p, 'float expected');
		const single = Math.fround(entry);
		if (!Number.isFinite(single) || Object.is(single, -0)) invalid('vector', p);
		return single;
	});
	if (embedding.length < 1 || embedding.length > 65_536) invalid('vector', f.at('embedding'));
	const topK = f.u32('top_k');
	if (topK < 1n || topK > 1000n) invalid('vector', f.at('top_k'));
	return { field, embedding, topK: Number(topK) };
}

function readText(f: Fields): TextSearch {
	const field = f.optional('field', (x, k) => plainName(x.text(k), 'text', x.at(k)));
	const query = f.text('query');
	if (/^\p{White_Space}*$/u.test(query) || utf8Length(query) > 1024 || hasControl(query)) {
		invalid('text', f.at('query'));
	}
	return { field, query };
}

function defaultPage(): PageRequest {
	return { limit: 50, offset: 0n, cursor: undefined, wantTotal: false };
}

export function readCursor(text: string, path: string): string {
	return plainName(text, 'page_cursor', path, 512);
}

function readPage(f: Fields): PageRequest {
	const limit = f.u32('limit');
	const page = {
		limit: Number(limit),
		offset: f.optional('offset', (x, k) => x.u64(k)),
		cursor: f.optional('cursor', (x, k) => x.text(k)),
		wantTotal: f.or('want_total', false, (x, k) => x.bool(k)),
	};
	if (limit < 1n || limit > 1000n) invalid('page_limit', f.at('limit'));
	if (page.offset !== undefined && page.cursor !== undefined) invalid('page_selector', f.path);
	if (page.cursor !== undefined) readCursor(page.cursor, f.at('cursor'));
	return page;
}

function readSelect(f: Fields): Query['select'] {
	return {
		fields: f.or('fields', [], (x, k) => x.list(k, (entry, p) => name(asText(entry, p), p))),
		payload: f.or('payload', false, (x, k) => x.bool(k)),
	};
}

function readAggregate(f: Fields): Aggregate {
	const aggregate: Aggregate = {
		group_by: f.or('group_by', [], (x, k) => x.list(k, (entry, p) => name(asText(entry, p), p))),
		funcs: f.list('funcs', (entry, p): AggCall => {
			const call = Fields.of(entry, p);
			return {
				func: call.oneOf('func', FUNCS),
				field: call.optional('field', (x, k) => name(x.text(k), x.at(k))),
				arg: call.optional('arg', (x, k) => x.float(k)),
				alias: name(call.text('alias'), call.at('alias')),
			};
		}),
		window: f.optional('window', (x, k) => {
			const window = x.child(k);
			return {
				field: name(window.text('field'), window.at('field')),
				every_micros: window.u64('every_micros'),
			};
		}),
	};
	if (aggregate.funcs.length < 1 || aggregate.funcs.length > 1024) invalid('aggregate', f.at('funcs'));
	if (aggregate.group_by.length > MAX_LIST) invalid('aggregate', f.at('group_by'));
	const aliases = new Set<string>();
	for (const [i, call] of aggregate.funcs.entries()) {
		const at = `${f.at('funcs')}[${i}]`;
		if (aliases.has(call.alias)) invalid('aggregate', at, 'alias repeated');
		aliases.add(call.alias);
		const ok =
			call.func === 'count'
				? call.arg === undefined
				: call.func === 'percentile'
					? call.field !== undefined && call.arg !== undefined && call.arg >= 0 && call.arg <= 1
					: call.field !== undefined && call.arg === undefined;
		if (!ok) invalid('aggregate', at);
	}
	if (aggregate.window !== undefined && aggregate.window.every_micros === 0n)
		invalid('window', f.at('window'));
	return aggregate;
}

function readRawSql(f: Fields): RawSql {
	const dialect = f.oneOf('dialect', ['data_fusion', 'postgres', 'my_sql', 'sqlite']);
	const sql = f.text('sql');
	if (/^\p{White_Space}*$/u.test(sql) || utf8Length(sql) > 65_536 || hasControl(sql, '\n\r\t')) {
		invalid('raw_sql', f.at('sql'));
	}
	const params = f.or('params', [], (x, k) => x.list(k, (entry, p) => readTypedValue(entry, p)));
	if (params.length > 1024) invalid('raw_sql', f.at('params'));
	return { dialect, sql, params };
}

export interface ExecutionRequest {
	v: bigint;
	execution_id: Uint8Array;
}

export interface PageEnvelope extends ExecutionRequest {
	cursor: string;
	deadline_micros: bigint;
}

/** QueryCancelEnvelope and QueryStatusEnvelope have the same shape. */
export function readExecutionRequest(item: unknown): ExecutionRequest {
	const f = Fields.of(item, '');
	const request = { v: f.u32('v'), execution_id: f.id('execution_id') };
	if (isZero(request.execution_id)) invalid('execution_id', 'execution_id');
	return request;
}

export function readPageEnvelope(item: unknown): PageEnvelope {
	const f = Fields.of(item, '');
	const request = {
		...readExecutionRequest(item),
		cursor: readCursor(f.text('cursor'), 'cursor'),
		deadline_micros: f.u64('deadline_micros'),
	};
	if (request.deadline_micros === 0n) invalid('deadline', 'deadline_micros');
	return request;
}
