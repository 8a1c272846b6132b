import type { RecordColumns } from '../core/contract.js';
import { CodecError } from '../errors/index.js';
import { decodeJson, TopicRecord } from './record.js';

/** Any schema that follows the Standard Schema interface, version 1: Zod, Valibot, ArkType and others. */
export interface StandardSchema<Output = unknown> {
	readonly '~standard': {
		readonly version: 1;
		readonly vendor: string;
		readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
		readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
	};
}

export type SchemaResult<Output> =
	| { readonly value: Output; readonly issues?: undefined }
	| { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
	readonly message: string;
	readonly path?: readonly unknown[] | undefined;
}

export interface Misfit {
	readonly partitionId: number;
	readonly offset: bigint;
	readonly issues: readonly SchemaIssue[];
}

/** Records of columns, without a schema. */
export function plainRecords(columns: RecordColumns): TopicRecord<undefined>[] {
	return Array.from({ length: columns.count }, (_, index) => new TopicRecord(columns, index, undefined));
}

/**
 * Records whose JSON fits the schema. A record that does not fit is reported and left out; its offset is read past, as
 * with any other.
 */
export async function fittingRecords<T>(
	columns: RecordColumns,
	schema: StandardSchema<T>,
	report: (misfit: Misfit) => void,
): Promise<TopicRecord<T>[]> {
	const fitting: TopicRecord<T>[] = [];
	for (let index = 0; index < columns.count; index++) {
		const record = new TopicRecord(columns, index, undefined);
		const result = await validate(record, schema);
		if (result.issues === undefined) fitting.push(new TopicRecord(columns, index, result.value));
		else report({ partitionId: record.partitionId, offset: record.offset, issues: result.issues });
	}
	return fitting;
}

async function validate<T>(record: TopicRecord, schema: StandardSchema<T>): Promise<SchemaResult<T>> {
	let value: unknown;
	try {
		value = decodeJson(record);
	} catch (error) {
		if (!(error instanceof CodecError)) throw error;
		return { issues: [{ message: error.message }] };
	}
	try {
		return await schema['~standard'].validate(value);
	} catch (error) {
		// A schema that throws says the same as one that reports, only less politely.
		return { issues: [{ message: error instanceof Error ? error.message : 'the schema failed' }] };
	}
}
