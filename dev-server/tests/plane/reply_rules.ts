/** The client's rules of a query reply (contract 10.8, 10.10) and of an announcement (6.1): the first broken one, by name. */
import { CONSISTENCIES } from '../../src/plane/query_request.js';
import { decodeCbor } from '../../src/plane/wire/cbor.js';
import { checkFields, checkValue, type LogicalField } from '../../src/plane/wire/logical_type.js';
import { plainName, trimmedName } from '../../src/plane/wire/names.js';
import { invalid, Refusal } from '../../src/plane/wire/refusal.js';
import { readTypedValue } from '../../src/plane/wire/typed_value.js';
import type { Answer } from './client.js';

function ruleOf(check: () => void): string | undefined {
	try {
		check();
		return undefined;
	} catch (error) {
		if (error instanceof Refusal) return error.rule;
		throw error;
	}
}

const zero = (id: Uint8Array) => id.every((byte) => byte === 0);

export function brokenReplyRule(bytes: Uint8Array, executionId: Uint8Array): string | undefined {
	return ruleOf(() => {
		const reply = decodeCbor(bytes) as Answer;
		const keys = Object.keys(reply);
		if (keys.length !== 1) invalid('enum_shape', '');
		if (keys[0] !== 'Ok') invalid('unknown_variant', keys[0]!);
		checkResult(reply.Ok, executionId);
	});
}

function checkResult({ fields, rows, page, context }: Answer, executionId: Uint8Array): void {
	if (fields.length === 0) invalid('fields_empty', 'fields');
	checkFields(fields, 'fields');
	for (const [r, row] of rows.entries()) {
		if (row.values.length !== fields.length) invalid('row_width', `rows[${r}]`);
		for (const [i, field] of (fields as LogicalField[]).entries()) {
			const at = `rows[${r}].values[${i}]`;
			checkValue(readTypedValue(row.values[i], at), field.field_type, field.required, at);
		}
		if (row.score !== undefined && !Number.isFinite(row.score)) invalid('score_not_finite', `rows[${r}]`);
	}
	if (rows.length > 1000) invalid('rows_over_limit', 'rows');
	if (zero(context.execution_id)) invalid('execution_id', 'context');
	if (context.row_count !== BigInt(rows.length)) invalid('row_count', 'context');
	trimmedName(context.engine.name, 'engine_identity', 'context');
	trimmedName(context.engine.version, 'engine_identity', 'context');
	const level = (name: never) => CONSISTENCIES.indexOf(name);
	if (level(context.delivered_consistency as never) < level(context.requested_consistency as never))
		invalid('consistency_downgrade', 'context');
	checkEvidence(context);
	if (page.limit < 1n || page.limit > 1000n) invalid('page_limit', 'page');
	if (page.has_more !== (page.next_cursor !== undefined)) invalid('page_cursor_agreement', 'page');
	if (page.next_cursor !== undefined) plainName(page.next_cursor, 'page_cursor', 'page', 512);
	if (Buffer.compare(context.execution_id, executionId) !== 0) invalid('execution_mismatch', 'context');
}

function checkEvidence(context: Answer): void {
	const evidence = (ok: boolean) => {
		if (!ok) invalid('target_evidence', 'context');
	};
	const target = context.resolved_target;
	evidence(!zero(target.backend_resource_id));
	evidence(target.backend_generation > 0n && target.runtime_configuration_revision > 0n);
	if (context.boundary !== undefined && context.boundary.digest.length !== 32)
		invalid('digest_length', 'context');
	const three = ['boundary', 'checkpoint_revision', 'global_state_revision'];
	if (target.kind === 'operational') {
		trimmedName(target.index, 'target_evidence', 'context');
		evidence(three.every((key) => context[key] === undefined));
		return;
	}
	evidence(!zero(target.destination_id) && target.destination_generation > 0n);
	evidence(target.table_uuid.length === 16 && target.namespace.length > 0);
	for (const name of [...target.namespace, target.table]) trimmedName(name, 'target_evidence', 'context');
	evidence(target.snapshot_id > 0n && target.schema_id >= 0n && target.partition_spec_id >= 0n);
	evidence(three.every((key) => context[key] !== undefined));
}

const TERMINAL = ['completed', 'cancelled', 'failed', 'expired'];

export function brokenStatusRule(bytes: Uint8Array, executionId: Uint8Array): string | undefined {
	return ruleOf(() => {
		const reply = decodeCbor(bytes) as Answer;
		const keys = Object.keys(reply);
		if (keys.length !== 1) invalid('enum_shape', '');
		if (keys[0] !== 'Ok') invalid('unknown_variant', keys[0]!);
		const status = reply.Ok;
		if (![...TERMINAL, 'queued', 'planning', 'running'].includes(status.state))
			invalid('unknown_variant', 'state');
		const consistent = (ok: boolean) => {
			if (!ok) invalid('status_consistency', 'status');
		};
		consistent(!zero(status.execution_id) && status.started_at_micros > 0n);
		consistent((status.finished_at_micros !== undefined) === TERMINAL.includes(status.state));
		consistent(
			status.finished_at_micros === undefined || status.finished_at_micros >= status.started_at_micros,
		);
		consistent((status.error !== undefined) === (status.state === 'failed'));
		if (Buffer.compare(status.execution_id, executionId) !== 0) invalid('execution_mismatch', 'status');
	});
}

const MODES = ['operational', 'lakehouse'];
const KINDS =
	'boolean int long float double decimal date time_micros timestamp_micros timestamp_tz_micros string uuid fixed binary struct list map'.split(
		' ',
	);

export function brokenAnnounceRule(bytes: Uint8Array): string | undefined {
	return ruleOf(() => {
		const announce = decodeCbor(bytes) as Answer;
		const backends = announce.backends ?? [];
		const ids = new Set<string>();
		for (const descriptor of backends) {
			checkDescriptor(descriptor);
			ids.add(Buffer.from(descriptor.resource_id).toString('hex'));
		}
		if (ids.size !== backends.length) invalid('descriptor_repeat', 'backends');
		if (announce.ready !== false && backends.length > 0 && !backends.some((b: Answer) => b.readiness.ready))
			invalid('announce_readiness', 'ready');
	});
}

function unique(list: unknown[], names?: string[]): void {
	if (new Set(list).size !== list.length) invalid('descriptor_repeat', '');
	if (names !== undefined && list.some((item) => !names.includes(item as string)))
		invalid('unknown_variant', '');
}

function checkDescriptor(d: Answer): void {
	if (d.descriptor_version !== 1n) invalid('descriptor_version', '');
	if (!MODES.includes(d.mode)) invalid('unknown_variant', 'mode');
	if (zero(d.resource_id) || d.observed_backend_generation < 1n || d.runtime_configuration_revision < 1n)
		invalid('descriptor_identity', '');
	for (const text of [d.label, d.implementation.kind, d.implementation.version])
		plainName(text, 'descriptor_text', '', 4096);
	const { ready, reasons, observed_at_micros } = d.readiness;
	const fine = ready
		? reasons.length === 0 && observed_at_micros > 0n && d.observed_state === 'ready'
		: reasons.length >= 1 && reasons.length <= 32;
	if (!fine) invalid('readiness_consistency', '');
	unique(d.materialization.map((m: Answer) => `${m.file_format}/${m.table_format}`));
	const { query, limits } = d;
	if (query !== undefined) {
		for (const key of ['dialects', 'consistency', 'logical_types', 'paging'])
			if (query[key].length === 0) invalid('query_capabilities', key);
		unique(query.dialects, ['data_fusion', 'postgres', 'my_sql', 'sqlite']);
		unique(query.time_travel, ['snapshot_id', 'timestamp_micros']);
		unique(query.consistency, ['eventual', 'read_your_writes', 'strong']);
		unique(query.logical_types, KINDS);
		unique(query.paging, ['offset', 'cursor']);
	}
	if (!ready) return;
	const wanted = [
		d.schema.logical_schema && 'max_schema_fields',
		d.materialization.length > 0 && 'max_materialization_file_bytes',
		...(query === undefined
			? []
			: [
					'max_query_rows',
					'max_query_bytes',
					'max_scan_bytes',
					'max_query_micros',
					'max_concurrent_queries',
				]),
	];
	for (const key of wanted) if (key && limits[key] < 1n) invalid('descriptor_limits', key);
}
