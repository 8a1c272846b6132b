import type { ConsistencyLevel } from '../connect/capabilities.js';
import { ManagedId } from '../connect/identity.js';
import type { QueryColumn, QueryPageColumns } from '../core/query.js';
import { type PlainOptions, plainReader, typedReader } from './cells.js';
import { plainRows } from './rows.js';
import type { LogicalField } from './schema.js';
import type { TypedValue } from './value.js';

export interface QueryRow {
	/** In the order of the result's fields. */
	readonly values: readonly TypedValue[];
	/** Of vector searches the distance, of text searches the rank. */
	readonly score?: number;
}

export interface QueryPage {
	readonly offset?: number;
	/** The applied limit. */
	readonly limit: number;
	/** Only when it was asked for. */
	readonly total?: number;
	readonly hasMore: boolean;
	readonly nextCursor?: string;
}

export type ResolvedTarget =
	| {
			readonly kind: 'operational';
			readonly index: string;
			readonly backendResourceId: ManagedId;
			readonly backendGeneration: bigint;
			readonly runtimeConfigurationRevision: bigint;
	  }
	| {
			readonly kind: 'lakehouse';
			readonly destinationId: ManagedId;
			readonly destinationGeneration: bigint;
			readonly backendResourceId: ManagedId;
			readonly backendGeneration: bigint;
			readonly runtimeConfigurationRevision: bigint;
			readonly tableUuid: Uint8Array;
			readonly namespace: readonly string[];
			readonly table: string;
			readonly snapshotId: bigint;
			readonly schemaId: number;
			readonly partitionSpecId: number;
	  };

export interface QueryContext {
	readonly executionId: ManagedId;
	readonly engine: { readonly name: string; readonly version: string; readonly dialect?: string };
	readonly resolvedTarget: ResolvedTarget;
	readonly requestedConsistency: ConsistencyLevel;
	readonly deliveredConsistency: ConsistencyLevel;
	readonly boundary?: {
		readonly digest: Uint8Array;
		readonly relationToCurrent: 'current' | 'historical' | 'ahead_of_observed_checkpoint';
	};
	readonly checkpointRevision?: bigint;
	readonly globalStateRevision?: bigint;
	readonly truncated: boolean;
	readonly elapsedMicros: bigint;
	readonly scannedBytes: bigint;
	readonly producedBytes: bigint;
	readonly rowCount: number;
	readonly frontier: readonly {
		readonly stream: string;
		readonly topic: string;
		readonly partitionId: number;
		readonly topicCreatedAtMicros?: bigint;
		readonly appliedOffset: bigint;
	}[];
}

/** One page of a query's result. Columns are there at once; rows and objects are made when they are asked for. */
export class QueryResult {
	readonly fields: readonly LogicalField[];
	/** One a field. They belong to whoever holds the result. */
	readonly columns: readonly QueryColumn[];
	readonly rowCount: number;
	readonly page: QueryPage;
	readonly context: QueryContext;
	/** Of a search: one score a row, kind float. */
	readonly scores: QueryColumn | undefined;
	#rows: readonly QueryRow[] | undefined;

	/** @internal */
	constructor(page: QueryPageColumns) {
		this.fields = page.fields as LogicalField[];
		this.columns = page.columns;
		this.rowCount = page.rows;
		this.page = pageOf(page.details.page as WirePage);
		this.context = contextOf(page.details.context as WireContext);
		this.scores = page.scores;
	}

	/** The rows as typed values: every kind stays apart from every other. */
	get rows(): readonly QueryRow[] {
		this.#rows ??= this.#makeRows();
		return this.#rows;
	}

	/**
	 * The rows as plain objects: bigint for 64-bit kinds, text for uuid and decimal, bytes, arrays, `Map`s, objects for
	 * structs, null for null; dates are days, times microseconds, unless options say otherwise. A field may have any
	 * name, `__proto__` too.
	 */
	objects<T = Record<string, unknown>>(options?: PlainOptions): T[] {
		return plainRows(this.fields, this.columns, this.rowCount, options) as T[];
	}

	#makeRows(): QueryRow[] {
		const readers = this.fields.map(({ fieldType }, index) => typedReader(this.columns[index]!, fieldType));
		const score = this.scores === undefined ? undefined : plainReader(this.scores, { kind: 'float' });
		return Array.from({ length: this.rowCount }, (_, row) => {
			const values = readers.map((read) => read(row));
			const scored = score?.(row) as number | null | undefined;
			return scored === null || scored === undefined ? { values } : { values, score: scored };
		});
	}
}

interface WirePage extends Omit<QueryPage, 'offset' | 'total'> {
	offset?: bigint;
	total?: bigint;
}

function pageOf({ offset, total, ...rest }: WirePage): QueryPage {
	return {
		...(offset === undefined ? {} : { offset: Number(offset) }),
		...(total === undefined ? {} : { total: Number(total) }),
		...rest,
	};
}

type WireContext = Record<string, unknown> & {
	executionId: Uint8Array;
	rowCount: bigint;
	resolvedTarget: object;
};

function contextOf(wire: WireContext): QueryContext {
	const target = Object.fromEntries(
		Object.entries(wire.resolvedTarget).map(([key, value]) => [
			key,
			key === 'backendResourceId' || key === 'destinationId' ? ManagedId.fromBytes(value) : value,
		]),
	);
	return {
		...wire,
		executionId: ManagedId.fromBytes(wire.executionId),
		resolvedTarget: target,
		rowCount: Number(wire.rowCount),
	} as unknown as QueryContext;
}

/** The place of the first field with exactly this name. */
export function queryResultFieldIndex(result: QueryResult, name: string): number | undefined {
	const index = result.fields.findIndex((field) => field.name === name);
	return index < 0 ? undefined : index;
}

/** The value of a row under a field's name; undefined where there is no such row or field. */
export function queryResultValue(result: QueryResult, row: number, name: string): TypedValue | undefined {
	const index = queryResultFieldIndex(result, name);
	return index === undefined ? undefined : result.rows[row]?.values[index];
}

/** The text of a string value. */
export function queryResultValueText(result: QueryResult, row: number, name: string): string | undefined {
	const value = queryResultValue(result, row, name);
	return value?.kind === 'string' ? value.value : undefined;
}

/** An int or long that is not negative. */
export function queryResultValueU64(result: QueryResult, row: number, name: string): bigint | undefined {
	const value = queryResultValueI64(result, row, name);
	return value === undefined || value < 0n ? undefined : value;
}

/** An int or long. */
export function queryResultValueI64(result: QueryResult, row: number, name: string): bigint | undefined {
	const value = queryResultValue(result, row, name);
	return value?.kind === 'int' || value?.kind === 'long' ? BigInt(value.value) : undefined;
}
