import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlane, type DevPlane } from '../../src/plane/index.js';
import { decodeCbor, encodeCbor } from '../../src/plane/wire/cbor.js';
import { OPTIONS, TestClient } from './client.js';
import { MemoryLog } from './memory_log.js';

let log: MemoryLog;
let client: TestClient;
const opened: DevPlane[] = [];

async function open(options = {}): Promise<TestClient> {
	const plane = await createPlane(log, { ...OPTIONS, ...options });
	opened.push(plane);
	return new TestClient(plane, log);
}

beforeEach(async () => {
	log = new MemoryLog();
	await log.ensureTopic('shop', 'orders', 1);
	client = await open();
});

afterEach(async () => {
	for (const plane of opened.splice(0)) await plane.close();
});

const FIELDS = [{ name: 'id', pointer: '/id' }];
const SOURCE = { stream: 'shop', topic: 'orders' };

describe('hello', () => {
	it('announces only what is served', async () => {
		const hello = await client.hello();
		expect(hello.versions).toEqual({ query: 1n, control: 1n, kv: 0n, fork: 0n, features: 98n });
		expect(hello.ready).toBeUndefined();
		expect(hello.backends.map((backend: { mode: string }) => backend.mode)).toEqual([
			'operational',
			'lakehouse',
		]);
		expect(hello.backends[0]).toMatchObject({
			mode: 'operational',
			desired_state: 'enabled',
			observed_state: 'ready',
			readiness: { ready: true, reasons: [] },
		});
		expect(hello.topology).toMatchObject({ ops_stream: '_agdx', changes_topic: 'changes' });
		expect(log.partitionCount('_agdx', 'changes')).toBe(1);
	});

	it('starts unready for the configured time, and can be switched back', async () => {
		const starting = await open({ readyAfterMs: 150 });
		const first = await starting.hello();
		expect(first.ready).toBe(false);
		expect(first.backends[0]).toMatchObject({
			observed_state: 'starting',
			readiness: { ready: false, reasons: [{ code: 'configuration_pending' }] },
		});
		expect(await starting.query('x')).toEqual({
			Err: { TargetUnavailable: { reason: 'configuration_pending' } },
		});
		expect((await starting.registerProjection('p', FIELDS)).code).toBe('unavailable');
		await new Promise((resolve) => setTimeout(resolve, 200));
		expect((await starting.hello()).ready).toBeUndefined();
		await starting.plane.fault({ kind: 'readiness', ready: false });
		const off = await starting.hello();
		expect(off.backends[0].readiness.reasons).toEqual([{ code: 'query_runtime_unavailable' }]);
		await starting.plane.fault({ kind: 'readiness', ready: true });
		expect((await starting.hello()).ready).toBeUndefined();
	});

	it('says stream tenancy and the partitions of the feed as configured', async () => {
		const tenant = await open({ streamTenancy: true });
		expect((await tenant.hello()).versions.features).toBe(98n + 8192n);
	});
});

describe('envelopes', () => {
	it('refuses a bare mutation and a zero identity', async () => {
		const bare = { v: 1n, timestamp_micros: 0n, command: { DropProjection: 'p' } };
		expect((await client.send(1_000_108, bare)).code).toBe('invalid_argument');
		expect((await client.control({ DropProjection: 'p' }, 0n)).code).toBe('invalid_argument');
		expect((await client.send(1_000_301, { v: 1n })).code).toBe('invalid_argument');
	});

	it('takes reads bare and wrapped', async () => {
		const read = encodeCbor({ v: 1n });
		const wrapped = await client.send(1_000_211, { v: 1n, read, log_head: true });
		expect(wrapped).toEqual(await client.raw(1_000_211, read));
	});

	it('answers what it does not serve with unsupported', async () => {
		for (const code of [1_000_002, 1_000_025, 1_000_300, 1_000_716, 1_999_999]) {
			expect((await client.raw(code, encodeCbor({}))).code, String(code)).toBe('unsupported');
		}
		expect((await client.mutate(1_000_301, {})).code).toBe('unsupported');
		expect((await client.control({ DropGraph: 'g' })).code).toBe('unsupported');
	});

	it('answers bytes that are not a request with invalid_argument', async () => {
		for (const body of [
			new Uint8Array(),
			Uint8Array.of(0xff),
			Uint8Array.of(0x01, 0x01),
			new Uint8Array(64).fill(0x9f),
		]) {
			expect((await client.raw(1_000_108, body)).code).toBe('invalid_argument');
			expect((await client.raw(1_000_200, body)).code).toBe('invalid_argument');
		}
	});

	it('applies a repeated identity once and answers it as before', async () => {
		const register = (id: string) => ({
			RegisterProjection: { id, name: '', version: 1n, content_type: 'json', extraction: { fields: [] } },
		});
		expect((await client.control(register('a'), 42n)).code).toBe('ok');
		expect((await client.control({ DropProjection: 'a' }, 43n)).code).toBe('ok');
		expect((await client.control(register('a'), 42n)).code).toBe('ok');
		expect((await client.send(1_000_210, { v: 1n, id: 'a' })).Ok).toEqual({ Projection: null });
		expect((await client.control(register('b'), 42n)).code).toBe('conflict');
		const together = await Promise.all(Array.from({ length: 8 }, () => client.control(register('c'), 44n)));
		expect(together.every((reply) => reply.code === 'ok')).toBe(true);
	});
});

describe('control and browse', () => {
	it('registers, binds, lists and drops', async () => {
		await client.registerProjection('orders.v1', FIELDS);
		await client.registerProjection('other.v1', FIELDS);
		await client.applyBinding({ source: SOURCE, default_projection: 'orders.v1', index: 'orders' });
		const got = await client.send(1_000_210, { v: 1n, id: 'orders.v1' });
		expect(got.Ok.Projection.projection).toMatchObject({
			id: 'orders.v1',
			version: 1n,
			content_type: 'json',
		});
		expect(got.Ok.Projection.bindings).toEqual([
			{
				source: SOURCE,
				allowed_projections: ['orders.v1'],
				default_projection: 'orders.v1',
				index: 'orders',
			},
		]);
		const list = async (narrow: object) =>
			(await client.send(1_000_211, { v: 1n, ...narrow })).Ok.Projections.map(
				(p: { projection: { id: string } }) => p.projection.id,
			);
		expect(await list({})).toEqual(['orders.v1', 'other.v1']);
		expect(await list({ topics: ['orders'] })).toEqual(['orders.v1']);
		expect(await list({ id_prefix: 'oth' })).toEqual(['other.v1']);
		expect(await list({ name_contains: 'rders' })).toEqual(['orders.v1']);
		expect(await list({ search: 'ORDERS' })).toEqual(['orders.v1']);
		await client.control({ RemoveBinding: { source: SOURCE, projection_ref: null } });
		expect((await client.send(1_000_210, { v: 1n, id: 'orders.v1' })).Ok.Projection.bindings).toBeUndefined();
		await client.control({ DropProjection: 'orders.v1' });
		expect(await list({})).toEqual(['other.v1']);
	});

	it('registers schemas with ids of its own, keeps dropped ones as tombstones, decodes JSON', async () => {
		const source = { kind: 'json_schema', schema: '{"type":"object"}' };
		expect(await client.send(1_000_222, { v: 1n, source, name: 'a' })).toEqual({
			Ok: { SchemaRegistered: 1n },
		});
		expect((await client.control({ RegisterSchema: { id: 7n, source, name: 'b', version: 2n } })).code).toBe(
			'ok',
		);
		expect(await client.send(1_000_222, { v: 1n, source, stream: 'shop' })).toEqual({
			Ok: { SchemaRegistered: 8n },
		});
		await client.control({ DropSchema: 7n });
		expect((await client.send(1_000_220, { v: 1n, id: 7n })).Ok.Schema).toEqual({
			schema: { id: 7n, source, name: 'b', version: 2n },
			dropped: true,
		});
		expect((await client.send(1_000_221, { v: 1n })).Ok.Schemas.length).toBe(2);
		expect((await client.send(1_000_221, { v: 1n, stream: 'shop' })).Ok.Schemas.length).toBe(1);
		const payload = new TextEncoder().encode('{"n":9007199254740993}');
		expect(await client.send(1_000_223, { v: 1n, id: 7n, payload })).toEqual({
			Ok: { Decoded: { n: 9007199254740993n } },
		});
		expect((await client.send(1_000_220, { v: 1n, id: 99n })).Ok).toEqual({ Schema: null });
	});

	it('refuses what the contract refuses', async () => {
		const projection = (change: object) => ({
			RegisterProjection: {
				id: 'p',
				name: '',
				version: 1n,
				content_type: 'json',
				extraction: { fields: FIELDS },
				...change,
			},
		});
		const binding = (change: object) => ({ ApplyBinding: { source: SOURCE, index: 'i', ...change } });
		const bad: [object, string][] = [
			[projection({ id: '' }), 'projection_id'],
			[projection({ id: 'index:x' }), 'projection_id'],
			[projection({ id: 'é'.repeat(128) }), 'projection_id'],
			[projection({ kind: 1n }), 'projection_id'],
			[projection({ extraction: { fields: [{ name: '', pointer: '/a' }] } }), 'projection_field'],
			[projection({ extraction: { fields: [...FIELDS, ...FIELDS] } }), 'projection_field'],
			[projection({ content_type: 'yaml' }), 'unknown_variant'],
			[binding({ index: '' }), 'query_name'],
			[binding({ default_projection: 'index:x' }), 'projection_id'],
			[binding({ retention: { kind: 'forever' } }), 'unknown policy'],
			[binding({ source: { stream: '_agdx', topic: 'changes' } }), 'ops stream'],
			[binding({ source: { stream: 'shop' } }), 'missing_field'],
			[{ Nothing: null }, 'unknown_variant'],
		];
		for (const [command, rule] of bad) {
			const reply = await client.control(command);
			expect(reply.code, rule).toBe('invalid_argument');
			expect(reply.message).toContain(rule);
		}
		const stamped = await client.mutate(1_000_108, {
			v: 1n,
			timestamp_micros: 0n,
			command: { DropProjection: 'p' },
			stamp: {},
		});
		expect(stamped.code).toBe('invalid_argument');
		expect(await client.send(1_000_210, { v: 2n, id: 'p' })).toEqual({
			Err: { Version: { expected: 1n, got: 2n } },
		});
	});
});

describe('fault switches', () => {
	it('answers pending as often as asked, though the effect is there', async () => {
		await client.plane.fault({ kind: 'pending', times: 2 });
		const drop = { DropProjection: 'x' };
		expect((await client.control(drop, 7n)).code).toBe('pending');
		expect((await client.control(drop, 7n)).code).toBe('pending');
		expect((await client.control(drop, 7n)).code).toBe('ok');
	});

	it('answers backend_unavailable as often as asked, with no effect', async () => {
		await client.plane.fault({ kind: 'backend_unavailable', times: 1 });
		expect((await client.registerProjection('p', FIELDS)).code).toBe('backend_unavailable');
		expect((await client.send(1_000_210, { v: 1n, id: 'p' })).Ok.Projection).toBeNull();
	});

	it('publishes malformed, foreign and wrong-version change records', async () => {
		for (const record of ['malformed', 'foreign_index', 'wrong_version']) {
			expect(await client.plane.fault({ kind: 'change_record', record, index: 'orders' })).toBe(true);
		}
		const records = await log.read('_agdx', 'changes', 0, 0n, 10);
		expect(() => decodeCbor(records[0]!.payload)).toThrow();
		expect(decodeCbor(records[1]!.payload)).toMatchObject({ v: 1n, index: 'orders_other' });
		expect(decodeCbor(records[2]!.payload)).toMatchObject({ v: 2n, index: 'orders' });
	});

	it('breaks the named rule of a query reply, once', async () => {
		await client.registerProjection('p', FIELDS);
		await client.applyBinding({ source: SOURCE, default_projection: 'p', index: 'orders' });
		await client.publish('shop', 'orders', 0, [{ id: 1 }]);
		await client.plane.settle();
		const broken = async (rule: string) => {
			await client.plane.fault({ kind: 'query_reply', rule });
			return (await client.query('orders')).Ok;
		};
		expect((await broken('row_width')).rows[0].values).toHaveLength(2);
		expect((await broken('type_mismatch')).rows[0].values[0].kind).toBe('date');
		expect((await broken('row_count')).context.row_count).toBe(2n);
		expect((await broken('page_cursor_agreement')).page).toMatchObject({ has_more: true });
		expect((await broken('target_evidence')).context.resolved_target.backend_generation).toBe(0n);
		await client.plane.fault({ kind: 'query_reply', rule: 'execution_mismatch' });
		const execution_id = new Uint8Array(16).fill(9);
		expect((await client.query('orders', { execution_id })).Ok.context.execution_id).not.toEqual(
			execution_id,
		);
		expect((await client.query('orders', { execution_id })).Ok.context.execution_id).toEqual(execution_id);
	});

	it('says false to a kind that it does not know', async () => {
		expect(await client.plane.fault({ kind: 'earthquake' })).toBe(false);
	});
});
