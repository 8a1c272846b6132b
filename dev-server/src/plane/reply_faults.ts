/**
 * Query replies that break one rule on purpose, by the names of the contract's rule table. Rules of values and fields
 * add a field `broken` that breaks them; rules of evidence break the target's own kind.
 */
import type { ExecutionStatus, QueryContext, QueryResult, Row } from './query_reply.js';
import { encodeCbor } from './wire/cbor.js';
import type { LogicalField, LogicalType } from './wire/logical_type.js';

/** What the encoder writes may be anything here. */
type Loose = { [key: string]: unknown };

interface BrokenColumn {
	type?: unknown;
	value?: unknown;
	id?: bigint;
	name?: string;
	doc?: string;
	required?: boolean;
}

const FREE_ID = 1_900_000_001n;
const LONG: LogicalType = { kind: 'long' };
const long = (value: bigint) => ({ kind: 'long', value });
const bytes = (length: number) => new Uint8Array(length).fill(1);
const decimal = (unscaled: number[], precision = 5n, scale = 2n) => ({
	kind: 'decimal',
	value: { unscaled: Uint8Array.from(unscaled), precision, scale },
});
const PRICE = { kind: 'decimal', precision: 5n, scale: 2n };
const LIST = { kind: 'list', element_id: FREE_ID + 1n, element_required: false, element: LONG };
const map = (key: unknown) => ({
	kind: 'map',
	key_id: FREE_ID + 1n,
	key,
	value_id: FREE_ID + 2n,
	value_required: false,
	value: LONG,
});
const member = (id: bigint, name: string): LogicalField => ({ id, name, required: false, field_type: LONG });
const STRUCT = { kind: 'struct', fields: [member(FREE_ID + 1n, 'a'), member(FREE_ID + 2n, 'b')] };
const entry = (field_id: bigint) => ({ field_id, value: long(1n) });
const pair = (key: unknown) => ({ key, value: long(1n) });

function nestedType(levels: number): unknown {
	let type: unknown = LONG;
	for (let i = 1; i <= levels; i++)
		type = { kind: 'list', element_id: FREE_ID + BigInt(i), element_required: false, element: type };
	return type;
}

function nestedValue(levels: number): unknown {
	let value: unknown = long(1n);
	for (let i = 0; i < levels; i++) value = { kind: 'list', value: [value] };
	return value;
}

/** Rules that a field or a value breaks. */
const COLUMNS: Record<string, () => BrokenColumn> = {
	float_not_finite: () => ({ type: { kind: 'double' }, value: { kind: 'double', value: Number.NaN } }),
	float_negative_zero: () => ({ type: { kind: 'float' }, value: { kind: 'float', value: -0 } }),
	decimal_length: () => ({ type: PRICE, value: decimal([]) }),
	decimal_not_minimal: () => ({ type: PRICE, value: decimal([0, 1]) }),
	decimal_digits: () => ({ type: PRICE, value: decimal([0x0f, 0x42, 0x40]) }),
	decimal_type: () => ({ type: PRICE, value: decimal([1], 6n) }),
	decimal_precision: () => ({ type: { kind: 'decimal', precision: 39n, scale: 0n } }),
	time_out_of_range: () => ({
		type: { kind: 'time_micros' },
		value: { kind: 'time_micros', value: 86_400_000_000n },
	}),
	uuid_length: () => ({ type: { kind: 'uuid' }, value: { kind: 'uuid', value: bytes(15) } }),
	fixed_value_length: () => ({
		type: { kind: 'fixed', length: 4n },
		value: { kind: 'fixed', value: bytes(3) },
	}),
	fixed_length: () => ({ type: { kind: 'fixed', length: 0n } }),
	value_too_large: () => ({ type: { kind: 'binary' }, value: { kind: 'binary', value: bytes(8_388_609) } }),
	collection_too_large: () => ({ type: LIST, value: { kind: 'list', value: Array(4097).fill(long(1n)) } }),
	struct_field_order: () => ({
		type: STRUCT,
		value: { kind: 'struct', value: [entry(FREE_ID + 2n), entry(FREE_ID + 1n)] },
	}),
	struct_field_count: () => ({ type: STRUCT, value: { kind: 'struct', value: [entry(FREE_ID + 1n)] } }),
	struct_field_id: () => ({
		type: STRUCT,
		value: { kind: 'struct', value: [entry(FREE_ID + 1n), entry(FREE_ID + 3n)] },
	}),
	map_key_order: () => ({
		type: map(LONG),
		// Two's complement bytes are compared unsigned: -1 comes after 1.
		value: { kind: 'map', value: [pair(long(-1n)), pair(long(1n))] },
	}),
	map_key_kind: () => ({ type: map({ kind: 'double' }) }),
	depth_exceeded: () => ({ type: nestedType(16), value: nestedValue(16) }),
	field_id: () => ({ id: 0n }),
	field_name: () => ({ name: ' padded' }),
	field_name_reserved: () => ({ name: '__laser_offset' }),
	field_doc: () => ({ doc: 'd'.repeat(4097) }),
	schema_size: () => ({
		type: {
			kind: 'struct',
			fields: Array.from({ length: 4096 }, (_, i) => member(1_800_000_000n + BigInt(i), `m${i}`)),
		},
	}),
	invalid_utf8: () => ({ type: { kind: 'string' }, value: { kind: 'string', value: '\u{1F9EA}' } }),
};

function withColumn(result: QueryResult, broken: BrokenColumn): Loose {
	const field = {
		id: broken.id ?? FREE_ID,
		name: broken.name ?? 'broken',
		required: broken.required ?? false,
		field_type: broken.type ?? LONG,
		doc: broken.doc,
	};
	const rows = atLeastOneRow(result).map((row, i) => ({
		values: [
			...row.values,
			broken.value !== undefined && (i === 0 || field.required) ? broken.value : { kind: 'null' },
		],
		score: row.score,
	}));
	return { ...result, fields: [...result.fields, field], rows, context: counted(result, rows.length) };
}

function atLeastOneRow(result: QueryResult): Row[] {
	if (result.rows.length > 0) return result.rows;
	return [{ values: result.fields.map(() => ({ kind: 'null' as const })) }];
}

function counted(result: QueryResult, count: number): QueryContext {
	return { ...result.context, row_count: BigInt(count) };
}

function firstRow(result: QueryResult, bend: (values: readonly unknown[]) => unknown[]): Loose {
	const [first, ...rest] = atLeastOneRow(result);
	const rows = [{ ...first!, values: bend(first!.values) }, ...rest];
	return { ...result, rows, context: counted(result, rows.length) };
}

const ONLY_IN_LAKEHOUSE = ['boundary', 'checkpoint_revision', 'global_state_revision'];

/** One piece of the evidence gone, or there where it must not be. */
function evidence(result: QueryResult, field: string | undefined): Loose {
	const { context } = result;
	const lakehouse = context.resolved_target.kind === 'lakehouse';
	const name = field ?? (lakehouse ? 'boundary' : 'backend_generation');
	if (ONLY_IN_LAKEHOUSE.includes(name)) {
		const value = name === 'boundary' ? { digest: bytes(32), relation_to_current: 'current' } : 1n;
		return { ...result, context: { ...context, [name]: lakehouse ? undefined : value } };
	}
	const target = context.resolved_target as unknown as Loose;
	if (!Object.hasOwn(target, name)) throw new Error(`the target has no ${name}`);
	return {
		...result,
		context: { ...context, resolved_target: { ...target, [name]: nothing(target[name], name) } },
	};
}

function nothing(value: unknown, name: string): unknown {
	if (typeof value === 'bigint') return name === 'schema_id' || name === 'partition_spec_id' ? -1n : 0n;
	if (value instanceof Uint8Array)
		return name === 'table_uuid' ? value.slice(1) : new Uint8Array(value.length);
	return Array.isArray(value) ? [] : '';
}

function otherId(id: Uint8Array): Uint8Array {
	const other = Uint8Array.from(id);
	other[15]! ^= 0xff;
	other[0]! |= 1;
	return other;
}

const RESULTS: Record<string, (result: QueryResult, field: string | undefined) => Loose> = {
	fields_empty: (r) => ({ ...r, fields: [], rows: r.rows.map(() => ({ values: [] })) }),
	field_id_duplicate: (r) => withColumn(r, { id: r.fields[0]!.id }),
	field_name_duplicate: (r) => withColumn(r, { name: r.fields[0]!.name }),
	row_width: (r) => firstRow(r, (values) => [...values, { kind: 'null' }]),
	type_mismatch: (r) => {
		const kind = r.fields[0]!.field_type.kind === 'date' ? 'int' : 'date';
		return firstRow(r, (values) => [{ kind, value: 1n }, ...values.slice(1)]);
	},
	required_null: (r) => ({
		...firstRow(r, (values) => [{ kind: 'null' }, ...values.slice(1)]),
		fields: [{ ...r.fields[0]!, required: true }, ...r.fields.slice(1)],
	}),
	score_not_finite: (r) => {
		const rows = atLeastOneRow(r).map((row, i) => (i === 0 ? { ...row, score: Number.NaN } : row));
		return { ...r, rows, context: counted(r, rows.length) };
	},
	execution_mismatch: (r) => ({
		...r,
		context: { ...r.context, execution_id: otherId(r.context.execution_id) },
	}),
	execution_id: (r) => ({ ...r, context: { ...r.context, execution_id: new Uint8Array(16) } }),
	row_count: (r) => ({ ...r, context: counted(r, r.rows.length + 1) }),
	page_cursor_agreement: (r) => ({
		...r,
		page: r.page.has_more ? { ...r.page, next_cursor: undefined } : { ...r.page, has_more: true },
	}),
	page_cursor: (r) => ({ ...r, page: { ...r.page, has_more: true, next_cursor: 'line\nbreak' } }),
	page_limit: (r) => ({ ...r, page: { ...r.page, limit: 1001n } }),
	target_evidence: evidence,
	digest_length: (r) => ({
		...r,
		context: {
			...r.context,
			boundary: { digest: bytes(31), relation_to_current: 'current' },
		},
	}),
	engine_identity: (r) => ({ ...r, context: { ...r.context, engine: { name: '', version: '1' } } }),
	consistency_downgrade: (r) => ({
		...r,
		context: { ...r.context, requested_consistency: 'strong', delivered_consistency: 'eventual' },
	}),
	rows_over_limit: (r) => {
		const [first] = atLeastOneRow(r);
		const rows = Array<Row>(1001).fill(first!);
		return { ...r, rows, context: counted(r, rows.length) };
	},
};

/** Rules of the bytes themselves. */
const BYTES: Record<string, (encoded: Uint8Array) => Uint8Array> = {
	trailing_bytes: (encoded) => Uint8Array.from([...encoded, 0]),
	truncated: (encoded) => encoded.slice(0, encoded.length - 1),
	// An answer that says its fields are 2^30, and one whose text is 1 GiB; neither brings them.
	huge_array: () =>
		Uint8Array.from([0xa1, 0x62, 0x4f, 0x6b, 0xa1, 0x66, ...Buffer.from('fields'), 0x9a, 0x40, 0, 0, 0]),
	huge_text: () =>
		Uint8Array.from([
			0xa1,
			0x63,
			...Buffer.from('Err'),
			0xa1,
			0x67,
			...Buffer.from('Backend'),
			0x7a,
			0x40,
			0,
			0,
			0,
		]),
	unknown_variant: () => encodeCbor({ Later: null }),
	enum_shape: () => encodeCbor({ Ok: null, Err: null }),
	duplicate_key: (encoded) => {
		// The result's map, which follows `{"Ok":`, gets its first pair twice.
		const again = [0x66, ...Buffer.from('fields'), 0x80];
		return Uint8Array.from([...encoded.subarray(0, 4), encoded[4]! + 1, ...again, ...encoded.subarray(5)]);
	},
};

export const REPLY_FAULTS: readonly string[] = [
	...Object.keys(RESULTS),
	...Object.keys(COLUMNS),
	...Object.keys(BYTES),
];

/** The bytes of a reply that breaks the named rule. `field` chooses the piece of evidence. */
export function breakReply(result: QueryResult, rule: string, field?: string): Uint8Array {
	const bend = BYTES[rule];
	if (bend !== undefined) return bend(encodeCbor({ Ok: result }));
	const column = COLUMNS[rule];
	const broken = column === undefined ? RESULTS[rule]!(result, field) : withColumn(result, column());
	const encoded = encodeCbor({ Ok: broken });
	if (rule === 'invalid_utf8') {
		const at = Buffer.from(encoded).indexOf('\u{1F9EA}');
		encoded[at] = 0xff;
	}
	return encoded;
}

const STATUSES: Record<string, (status: ExecutionStatus) => Loose> = {
	execution_mismatch: (s) => ({ ...s, execution_id: otherId(s.execution_id) }),
	execution_id: (s) => ({ ...s, execution_id: new Uint8Array(16) }),
	started_zero: (s) => ({ ...s, started_at_micros: 0n }),
	finished_missing: (s) => ({ ...s, state: 'completed', finished_at_micros: undefined, error: undefined }),
	finished_running: (s) => ({
		...s,
		state: 'running',
		finished_at_micros: s.started_at_micros,
		error: undefined,
	}),
	finished_early: (s) => ({
		...s,
		state: 'completed',
		finished_at_micros: s.started_at_micros - 1n,
		error: undefined,
	}),
	error_missing: (s) => ({
		...s,
		state: 'failed',
		finished_at_micros: s.started_at_micros,
		error: undefined,
	}),
	error_extra: (s) => ({
		...s,
		state: 'completed',
		finished_at_micros: s.started_at_micros,
		error: { Backend: 'x' },
	}),
	unknown_state: (s) => ({ ...s, state: 'sleeping' }),
};

const STATUS_BYTES = ['trailing_bytes', 'truncated', 'unknown_variant', 'enum_shape'];

export const STATUS_FAULTS: readonly string[] = [...Object.keys(STATUSES), ...STATUS_BYTES];

/** A status or cancel reply that breaks a rule; the names say how `status_consistency` is broken. */
export function breakStatus(status: ExecutionStatus, rule: string): Uint8Array {
	const bend = STATUSES[rule];
	return bend === undefined ? BYTES[rule]!(encodeCbor({ Ok: status })) : encodeCbor({ Ok: bend(status) });
}

/** One error of each variant, for tests of how they are told apart. */
export function errorOf(variant: string, id: Uint8Array): unknown {
	switch (variant) {
		case 'TooLarge':
			return { TooLarge: { what: 'fault switch', size: 2n, cap: 1n } };
		case 'Version':
			return { Version: { expected: 2n, got: 1n } };
		case 'Stale':
			return { Stale: { what: 'fault switch', applied: 1n, required: 2n } };
		case 'Cancelled':
		case 'DeadlineExceeded':
			return { [variant]: { execution_id: id } };
		case 'ExpiredSnapshot':
			return { ExpiredSnapshot: { snapshot_id: 1n } };
		case 'StaleGeneration':
			return { StaleGeneration: { what: 'destination', requested: 1n, observed: 2n } };
		case 'TargetUnavailable':
			return { TargetUnavailable: { reason: 'fault switch' } };
		case 'ResourceLimit':
			return { ResourceLimit: { resource: 'fault switch', observed: 2n, limit: 1n } };
		case 'Unsupported':
		case 'Unauthorized':
		case 'IndexNotFound':
		case 'ForkNotFound':
		case 'Backend':
		case 'Unavailable':
			return { [variant]: 'fault switch' };
		default:
			throw new Error(`unknown query error ${variant}`);
	}
}
