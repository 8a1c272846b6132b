export type { ColumnKind, QueryColumn } from '../core/query.js';
export type { PlainOptions, TemporalKind } from './cells.js';
export type { QueryExecutionStatus } from './execution.js';
export {
	type Filter,
	type FilterOperator,
	filterAll,
	filterAny,
	filterNegate,
	filterPred,
} from './filter.js';
export type { AggregateFunction, Query, SqlDialect } from './model.js';
export { type PayloadCodec, QueryRequest, type QueryTarget } from './request.js';
export {
	type QueryContext,
	type QueryPage,
	QueryResult,
	type QueryRow,
	queryResultFieldIndex,
	queryResultValue,
	queryResultValueI64,
	queryResultValueText,
	queryResultValueU64,
	type ResolvedTarget,
} from './result.js';
export type { LogicalField, LogicalType } from './schema.js';
export { typedValueDiagnosticText } from './text.js';
export type { DecimalValue, MapEntry, QueryValue, StructMember, TypedValue } from './value.js';
