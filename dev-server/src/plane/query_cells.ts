/** Database values as typed values of the field they answer. */
import type { DuckDBValue } from '@duckdb/node-api';
import type { LogicalField } from './query_reply.js';
import type { TypedValue } from './wire/typed_value.js';

/** The table changed under the query; run it again. */
export class SchemaMoved extends Error {}

export function toTypedValue(value: DuckDBValue, field: LogicalField): TypedValue {
	if (value === null) return { kind: 'null' };
	const { kind } = field.field_type;
	switch (kind) {
		case 'string':
			if (typeof value === 'string') return { kind, value };
			break;
		case 'long':
			if (typeof value === 'bigint') return { kind, value };
			break;
		case 'int':
			if (typeof value === 'number') return { kind, value: BigInt(value) };
			break;
		case 'double':
			// Neither infinity nor not-a-number is a value of the contract.
			if (typeof value === 'number') {
				if (!Number.isFinite(value)) return { kind: 'null' };
				return { kind, value: value === 0 ? 0 : value };
			}
			break;
		case 'boolean':
			if (typeof value === 'boolean') return { kind, value };
			break;
		case 'binary':
			if (typeof value === 'object' && 'bytes' in value) return { kind, value: new Uint8Array(value.bytes) };
			break;
	}
	throw new SchemaMoved(`${typeof value} for ${kind}`);
}

/** Size of a value as the execution's `produced_bytes` counts it. */
export function sizeOf(value: TypedValue): number {
	switch (value.kind) {
		case 'null':
		case 'boolean':
			return 1;
		case 'string':
			return Buffer.byteLength(value.value, 'utf8');
		case 'binary':
			return value.value.length;
		default:
			return 8;
	}
}
