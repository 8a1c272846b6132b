import { type QueryValue, type TypedValue, typedValue } from './value.js';

export type FilterOperator = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'contains' | 'prefix';

/** A predicate tree, as on the wire. */
export type Filter =
	| { readonly all: readonly Filter[] }
	| { readonly any: readonly Filter[] }
	| { readonly not: Filter }
	| { readonly pred: { readonly field: string; readonly op: FilterOperator; readonly value: TypedValue } };

export function filterAll(...filters: readonly Filter[]): Filter {
	return { all: filters };
}

export function filterAny(...filters: readonly Filter[]): Filter {
	return { any: filters };
}

export function filterNegate(filter: Filter): Filter {
	return { not: filter };
}

export function filterPred(field: string, op: FilterOperator, value: QueryValue): Filter {
	return { pred: { field, op, value: typedValue(value) } };
}
