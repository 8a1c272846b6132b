/** Types and values that a statement of the client's own yields, as logical types and what they are read from. */
import {
	type DuckDBArrayType,
	type DuckDBDecimalType,
	DuckDBDecimalValue,
	type DuckDBListType,
	type DuckDBMapType,
	type DuckDBStructType,
	DuckDBTimestampMillisecondsValue,
	DuckDBTimestampSecondsValue,
	DuckDBTimestampValue,
	type DuckDBType,
	DuckDBTypeId,
	type DuckDBValue,
	listValue,
	mapValue,
	structValue,
} from '@duckdb/node-api';
import { memberName, UncarriedValue } from './column_type.js';
import { QueryFailure } from './query_reply.js';
import { checkFields, type LogicalField, type LogicalType, PROVENANCE_IDS } from './wire/logical_type.js';
import { invalid, Refusal } from './wire/refusal.js';
import { KEY_KINDS } from './wire/typed_value.js';

const T = DuckDBTypeId;

/** Integers wider than 64 bits come as decimals. */
const WIDE: LogicalType = { kind: 'decimal', precision: 38n, scale: 0n };
const WIDEST = 10n ** 38n;

const SCALARS: Partial<Record<DuckDBTypeId, LogicalType>> = {
	[T.BOOLEAN]: { kind: 'boolean' },
	[T.TINYINT]: { kind: 'int' },
	[T.SMALLINT]: { kind: 'int' },
	[T.INTEGER]: { kind: 'int' },
	[T.UTINYINT]: { kind: 'int' },
	[T.USMALLINT]: { kind: 'int' },
	[T.UINTEGER]: { kind: 'long' },
	[T.BIGINT]: { kind: 'long' },
	[T.UBIGINT]: WIDE,
	[T.HUGEINT]: WIDE,
	[T.UHUGEINT]: WIDE,
	[T.FLOAT]: { kind: 'float' },
	[T.DOUBLE]: { kind: 'double' },
	[T.DATE]: { kind: 'date' },
	[T.TIME]: { kind: 'time_micros' },
	[T.TIMESTAMP]: { kind: 'timestamp_micros' },
	[T.TIMESTAMP_S]: { kind: 'timestamp_micros' },
	[T.TIMESTAMP_MS]: { kind: 'timestamp_micros' },
	[T.TIMESTAMP_TZ]: { kind: 'timestamp_tz_micros' },
	[T.VARCHAR]: { kind: 'string' },
	[T.ENUM]: { kind: 'string' },
	[T.SQLNULL]: { kind: 'string' },
	[T.UUID]: { kind: 'uuid' },
	[T.BLOB]: { kind: 'binary' },
};

/** The fields of a result, numbered from 1 where they are no provenance. */
export function resultFields(names: readonly string[], types: readonly DuckDBType[]): LogicalField[] {
	let last = 0n;
	const nextId = () => (last += 1n);
	const logical = (type: DuckDBType, column: string): LogicalType => {
		switch (type.typeId) {
			case T.DECIMAL: {
				const { width, scale } = type as DuckDBDecimalType;
				return { kind: 'decimal', precision: BigInt(width), scale: BigInt(scale) };
			}
			case T.LIST:
			case T.ARRAY: {
				const element_id = nextId();
				const element = logical((type as DuckDBListType | DuckDBArrayType).valueType, column);
				return { kind: 'list', element_id, element_required: false, element };
			}
			case T.STRUCT: {
				const { entryNames, entryTypes } = type as DuckDBStructType;
				const fields = entryNames.map((name, i) => field(nextId(), name, entryTypes[i]!, column));
				return { kind: 'struct', fields };
			}
			case T.MAP: {
				const { keyType, valueType } = type as DuckDBMapType;
				const key_id = nextId();
				const key = logical(keyType, column);
				if (!KEY_KINDS.has(key.kind))
					throw new QueryFailure({ Unsupported: `a map keyed by ${key.kind} in ${column}` });
				const value_id = nextId();
				return {
					kind: 'map',
					key_id,
					key,
					value_id,
					value_required: false,
					value: logical(valueType, column),
				};
			}
			default: {
				const scalar = SCALARS[type.typeId];
				if (scalar === undefined) throw new QueryFailure({ Unsupported: `${type.toString()} in ${column}` });
				return scalar;
			}
		}
	};
	const field = (id: bigint, name: string, type: DuckDBType, column: string): LogicalField => ({
		id,
		name,
		required: false,
		field_type: logical(type, column),
	});
	const fields = names.map((name, i) => field(PROVENANCE_IDS.get(name) ?? nextId(), name, types[i]!, name));
	try {
		checkFields(fields, 'fields');
	} catch (error) {
		if (!(error instanceof Refusal)) throw error;
		invalid('raw_sql', 'query.raw_sql.sql', `its result has ${error.message}`);
	}
	return fields;
}

/** A value as a column of the field's own database type would hold it. */
export function adapt(value: DuckDBValue, type: DuckDBType, logical: LogicalType): DuckDBValue {
	if (value === null) return null;
	switch (logical.kind) {
		case 'long':
			return typeof value === 'number' ? BigInt(value) : value;
		case 'decimal': {
			if (typeof value !== 'bigint') return value;
			if (value >= WIDEST || value <= -WIDEST) throw new UncarriedValue('an integer of more than 38 digits');
			return new DuckDBDecimalValue(value, 38, 0);
		}
		case 'timestamp_micros':
			if (value instanceof DuckDBTimestampSecondsValue)
				return new DuckDBTimestampValue(value.seconds * 1_000_000n);
			if (value instanceof DuckDBTimestampMillisecondsValue)
				return new DuckDBTimestampValue(value.millis * 1000n);
			return value;
		case 'list': {
			const { valueType } = type as DuckDBListType | DuckDBArrayType;
			const { items } = value as { items: readonly DuckDBValue[] };
			return listValue(items.map((item) => adapt(item, valueType, logical.element)));
		}
		case 'struct': {
			const { entryNames, entryTypes } = type as DuckDBStructType;
			const { entries } = value as { entries: Readonly<Record<string, DuckDBValue>> };
			return structValue(
				Object.fromEntries(
					logical.fields.map((field, i) => [
						memberName(field),
						adapt(entries[entryNames[i]!] ?? null, entryTypes[i]!, field.field_type),
					]),
				),
			);
		}
		case 'map': {
			const { keyType, valueType } = type as DuckDBMapType;
			const { entries } = value as { entries: { key: DuckDBValue; value: DuckDBValue }[] };
			return mapValue(
				entries.map((entry) => ({
					key: adapt(entry.key, keyType, logical.key),
					value: adapt(entry.value, valueType, logical.value),
				})),
			);
		}
		default:
			return value;
	}
}
