/** A query as it is sent, apart from how it is described and how it is run. */
import type { ConsistencyLevel } from '../connect/capabilities.js';
import type { Filter } from './filter.js';
import type { TypedValue } from './value.js';

export type AggregateFunction =
	| 'count'
	| 'count_distinct'
	| 'sum'
	| 'avg'
	| 'min'
	| 'max'
	| 'percentile'
	| 'std_dev';

export type SqlDialect = 'data_fusion' | 'postgres' | 'my_sql' | 'sqlite';

export interface AggregateCall {
	func: AggregateFunction;
	field?: string;
	arg?: number;
	alias: string;
}

/** The body of a query, as the wire has it in camelCase. */
export interface Query {
	executionId: Uint8Array;
	target: unknown;
	deadlineMicros: bigint;
	byKey: { field: string; value: TypedValue }[];
	messageType?: string;
	timeRange?: [bigint, bigint];
	filter?: Filter;
	vector?: { field: string; embedding: readonly number[]; topK: number };
	text?: { field?: string; query: string };
	order: { field: string; dir: 'asc' | 'desc' }[];
	page: { limit: number; offset?: number; cursor?: string; wantTotal?: boolean };
	aggregate?: {
		groupBy: string[];
		funcs: AggregateCall[];
		window?: { field: string; everyMicros: bigint };
	};
	having?: Filter;
	distinct?: boolean;
	select: { fields: string[]; payload: boolean };
	fork?: string;
	rawSql?: { dialect: SqlDialect; sql: string; params: TypedValue[] };
	consistency: ConsistencyLevel;
}
