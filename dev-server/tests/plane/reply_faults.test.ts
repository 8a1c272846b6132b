/** Every fault of a reply breaks the rule it names, and nothing before it; without a fault no rule is broken. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevDestination } from '../../src/contract.js';
import { createPlane } from '../../src/plane/index.js';
import { REPLY_FAULTS, STATUS_FAULTS } from '../../src/plane/reply_faults.js';
import { decodeCbor, encodeCbor } from '../../src/plane/wire/cbor.js';
import { checkFields, schemaFingerprint } from '../../src/plane/wire/logical_type.js';
import { type Answer, OPTIONS, queryOn, TestClient } from './client.js';
import { MemoryLog } from './memory_log.js';
import { brokenAnnounceRule, brokenReplyRule, brokenStatusRule } from './reply_rules.js';

const CONTEXT = { userId: 1, connectionId: 1 };
let client: TestClient;
let destination: DevDestination;

beforeAll(async () => {
	const log = new MemoryLog();
	client = new TestClient(await createPlane(log, OPTIONS), log);
	const schema = [
		{ name: 'id', type: 'long' },
		{ name: 'day', type: 'date' },
	] as const;
	const rows = Array.from({ length: 5 }, (_, i) => [i, i] as const);
	await client.plane.createIndex('x', schema, rows);
	await client.plane.createIndex('empty', schema);
	destination = await client.plane.createDestination({ name: 'lake', schema, rows });
});
afterAll(() => client.plane.close());

function query(kind: string, extra: object = {}) {
	const target =
		kind === 'operational'
			? { kind, index: 'x' }
			: { kind, destination_id: destination.id, destination_generation: destination.generation };
	return queryOn('x', { target, page: { limit: 2n }, ...extra });
}

function send(code: number, message: unknown): Promise<Uint8Array> {
	return client.plane.handle(code, encodeCbor(message), CONTEXT);
}

/** Names of faults that break a rule in one of several ways. */
const RULES: Record<string, string> = { huge_array: 'truncated', huge_text: 'truncated' };

for (const kind of ['operational', 'lakehouse']) {
	describe(`${kind} replies`, () => {
		it('break no rule by themselves, first and later pages, empty ones too', async () => {
			const first = query(kind);
			const bytes = await send(1_000_200, { v: 1n, query: first });
			expect(brokenReplyRule(bytes, first.execution_id)).toBeUndefined();
			const cursor = (decodeCbor(bytes) as Answer).Ok.page.next_cursor;
			const page = {
				v: 1n,
				execution_id: first.execution_id,
				cursor,
				deadline_micros: first.deadline_micros,
			};
			expect(brokenReplyRule(await send(1_000_201, page), first.execution_id)).toBeUndefined();
			const none = query(kind, {
				filter: { pred: { field: 'id', op: 'eq', value: { kind: 'long', value: 99n } } },
			});
			expect(
				brokenReplyRule(await send(1_000_200, { v: 1n, query: none }), none.execution_id),
			).toBeUndefined();
		});

		for (const rule of REPLY_FAULTS) {
			it(`${rule}, once`, async () => {
				for (const extra of [{}, { page: { limit: 2n, offset: 100n } }]) {
					await client.plane.fault({ kind: 'query_reply', rule });
					const broken = query(kind, extra);
					const bytes = await send(1_000_200, { v: 1n, query: broken });
					expect(brokenReplyRule(bytes, broken.execution_id)).toBe(RULES[rule] ?? rule);
					const healed = query(kind, extra);
					const again = await send(1_000_200, { v: 1n, query: healed });
					expect(brokenReplyRule(again, healed.execution_id)).toBeUndefined();
				}
			});
		}

		it('any piece of the evidence', async () => {
			const shared = ['backend_resource_id', 'backend_generation', 'runtime_configuration_revision'];
			const three = ['boundary', 'checkpoint_revision', 'global_state_revision'];
			const own =
				kind === 'operational'
					? ['index']
					: [
							'destination_id',
							'destination_generation',
							'table_uuid',
							'namespace',
							'table',
							'snapshot_id',
							'schema_id',
							'partition_spec_id',
						];
			for (const field of [...shared, ...three, ...own]) {
				await client.plane.fault({ kind: 'query_reply', rule: 'target_evidence', field });
				const broken = query(kind);
				const bytes = await send(1_000_200, { v: 1n, query: broken });
				expect(brokenReplyRule(bytes, broken.execution_id), field).toBe('target_evidence');
			}
		});

		it('on later pages only', async () => {
			await client.plane.fault({ kind: 'query_reply', rule: 'execution_mismatch', on: 'page', target: kind });
			const first = query(kind);
			const bytes = await send(1_000_200, { v: 1n, query: first });
			expect(brokenReplyRule(bytes, first.execution_id)).toBeUndefined();
			const cursor = (decodeCbor(bytes) as Answer).Ok.page.next_cursor;
			const page = {
				v: 1n,
				execution_id: first.execution_id,
				cursor,
				deadline_micros: first.deadline_micros,
			};
			expect(brokenReplyRule(await send(1_000_201, page), first.execution_id)).toBe('execution_mismatch');
			expect(brokenReplyRule(await send(1_000_201, page), first.execution_id)).toBeUndefined();
		});
	});
}

describe('status and cancel replies', () => {
	const rules: Record<string, string> = {
		execution_id: 'status_consistency',
		unknown_state: 'unknown_variant',
	};
	for (const name of [
		'started_zero',
		'finished_missing',
		'finished_running',
		'finished_early',
		'error_missing',
		'error_extra',
	])
		rules[name] = 'status_consistency';
	for (const [code, on] of [
		[1_000_203, 'status'],
		[1_000_202, 'cancel'],
	] as const) {
		for (const rule of STATUS_FAULTS) {
			it(`${on}: ${rule}`, async () => {
				const done = query('operational');
				await send(1_000_200, { v: 1n, query: done });
				const request = { v: 1n, execution_id: done.execution_id };
				expect(brokenStatusRule(await send(code, request), done.execution_id)).toBeUndefined();
				await client.plane.fault({ kind: 'status_reply', rule, on });
				expect(brokenStatusRule(await send(code, request), done.execution_id)).toBe(rules[rule] ?? rule);
			});
		}
	}
});

it('each error of the surface can be had, and unknown faults are refused', async () => {
	const variants =
		'Unsupported Unauthorized IndexNotFound ForkNotFound Backend Unavailable TooLarge Version Stale Cancelled DeadlineExceeded ExpiredSnapshot StaleGeneration TargetUnavailable ResourceLimit';
	for (const error of variants.split(' ')) {
		await client.plane.fault({ kind: 'query_error', error });
		expect(Object.keys((await client.query('x')).Err), error).toEqual([error]);
	}
	expect((await client.query('x')).Ok).toBeDefined();
	await expect(client.plane.fault({ kind: 'query_error', error: 'Nothing' })).rejects.toThrow('unknown');
	await expect(client.plane.fault({ kind: 'query_reply', rule: 'nothing' })).rejects.toThrow('unknown');
});

it('the rules of replies, statuses and schemas are those of the vectors', () => {
	const root = new URL('../../../tests/vectors/agdx/', import.meta.url);
	let seen = 0;
	for (const file of readdirSync(root).filter((name) => name.endsWith('.json'))) {
		const sidecar = JSON.parse(readFileSync(new URL(file, root), 'utf8')) as Answer;
		if (!['valid', 'invalid'].includes(sidecar.outcome)) continue;
		const bytes = new Uint8Array(readFileSync(new URL(file.replace(/json$/, 'bin'), root)));
		const expected = sidecar.outcome === 'invalid' ? sidecar.rule : undefined;
		if (sidecar.message === 'QueryReply') {
			const reply = decodeCbor(bytes) as Answer;
			if (reply.Ok === undefined) continue;
			expect(brokenReplyRule(bytes, reply.Ok.context.execution_id), sidecar.vector).toBe(expected);
		} else if (sidecar.message === 'QueryExecutionStatus') {
			const status = decodeCbor(bytes) as Answer;
			const wrapped = encodeCbor({ Ok: status });
			expect(brokenStatusRule(wrapped, status.execution_id), sidecar.vector).toBe(expected);
		} else if (sidecar.message === 'LogicalSchema' && sidecar.outcome === 'valid') {
			const { schema, fields } = decodeCbor(bytes) as Answer;
			checkFields(fields, 'fields');
			expect(schemaFingerprint(schema.id, schema.version, fields), sidecar.vector).toEqual(
				schema.fingerprint,
			);
		} else continue;
		seen += 1;
	}
	expect(seen).toBeGreaterThan(80);
});

describe('announcements', () => {
	const root = new URL('../../../tests/vectors/agdx/', import.meta.url);
	const names = readdirSync(root)
		.filter((file) => /^(announce_|backend_announce).*\.json$/.test(file))
		.map((file) => file.slice(0, -5));
	it('the rules are those of the vectors', () => {
		let good = 0;
		for (const name of names) {
			const sidecar = JSON.parse(readFileSync(new URL(`${name}.json`, root), 'utf8')) as Answer;
			if (sidecar.outcome === 'decode_error' || sidecar.message !== 'BackendAnnounce') continue;
			const bytes = new Uint8Array(readFileSync(new URL(`${name}.bin`, root)));
			expect(brokenAnnounceRule(bytes), name).toBe(sidecar.outcome === 'invalid' ? sidecar.rule : undefined);
			good += 1;
		}
		expect(good).toBeGreaterThan(15);
	});

	it('what this server says breaks none, in every state of its backends', async () => {
		const hello = () => client.plane.handle(1_000_000, new Uint8Array(), CONTEXT);
		const states: [Answer, (boolean | undefined)[]][] = [
			[{ ready: true }, [undefined, true, true]],
			[{ ready: false, backend: 'lakehouse', reason: 'object_store_unavailable' }, [undefined, true, false]],
			[{ ready: false, backend: 'operational', state: 'degraded' }, [false, false, false]],
			[{ ready: true, backend: 'lakehouse' }, [undefined, false, true]],
			[{ ready: true }, [undefined, true, true]],
		];
		for (const [fault, expected] of states) {
			await client.plane.fault({ kind: 'readiness', ...fault });
			const bytes = await hello();
			expect(brokenAnnounceRule(bytes)).toBeUndefined();
			const announce = decodeCbor(bytes) as Answer;
			expect([announce.ready, ...announce.backends.map((b: Answer) => b.readiness.ready)]).toEqual(expected);
		}
	});

	it('each backend serves by its own readiness', async () => {
		await client.plane.fault({
			kind: 'readiness',
			ready: false,
			backend: 'operational',
			reason: 'probe_failed',
		});
		expect((await client.send(1_000_200, { v: 1n, query: query('lakehouse') })).Ok).toBeDefined();
		expect(await client.query('x')).toEqual({ Err: { TargetUnavailable: { reason: 'probe_failed' } } });
		await client.plane.fault({ kind: 'readiness', ready: true });
		await client.plane.fault({
			kind: 'readiness',
			ready: false,
			backend: 'lakehouse',
			reason: 'catalog_unavailable',
		});
		expect(await client.send(1_000_200, { v: 1n, query: query('lakehouse') })).toEqual({
			Err: { TargetUnavailable: { reason: 'catalog_unavailable' } },
		});
		expect((await client.query('x')).Ok).toBeDefined();
		await client.plane.fault({ kind: 'readiness', ready: true });
	});
});
