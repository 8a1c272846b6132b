/** Destinations: snapshots of Parquet files, read by lakehouse queries with their evidence. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DevDestination, FieldInput, RowInput, ValueInput } from '../../src/contract.js';
import { createPlane, type DevPlane } from '../../src/plane/index.js';
import { type Answer, OPTIONS, plainRows, queryOn, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

const SCHEMA: FieldInput[] = [{ name: 'id', type: 'long', required: true }];
let folder: string;
let plane: DevPlane | undefined;
let client: TestClient;

async function open(dataDir: string | undefined = folder): Promise<void> {
	const log = new MemoryLog();
	plane = await createPlane(log, { ...OPTIONS, ...(dataDir === undefined ? {} : { dataDir }) });
	client = new TestClient(plane, log);
}

async function close(): Promise<void> {
	await plane?.close();
	plane = undefined;
}

beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), 'plane-lake-'));
	await open();
});
afterEach(async () => {
	await close();
	rmSync(folder, { recursive: true, force: true });
});

function ask(
	destination: DevDestination,
	query: Record<string, unknown> = {},
	snapshot?: unknown,
): Promise<Answer> {
	return client.send(1_000_200, { v: 1n, query: asked(destination, query, snapshot) });
}

function asked(destination: DevDestination, query: Record<string, unknown> = {}, snapshot?: unknown) {
	const { id, generation } = destination;
	const target = { kind: 'lakehouse', destination_id: id, destination_generation: generation, snapshot };
	return queryOn('', { ...query, target });
}

const made = (rows?: RowInput[], schema = SCHEMA) =>
	client.plane.createDestination({ name: 'orders', schema, ...(rows ? { rows } : {}) });

describe('snapshots', () => {
	it('the current one, one by id, one by time, with the evidence of what was read', async () => {
		const lake = await made([[1], [2]]);
		const second = await lake.append([[3]]);
		await lake.overwrite([[9]]);
		const [first, , third] = lake.snapshots;
		const current = await ask(lake);
		expect(plainRows(current)).toEqual([[9n]]);
		expect(current.Ok.context.resolved_target).toMatchObject({
			kind: 'lakehouse',
			destination_id: lake.id,
			destination_generation: 1n,
			table_uuid: lake.tableUuid,
			namespace: ['tidemark'],
			table: 'orders',
			snapshot_id: third!.snapshotId,
			schema_id: 0n,
			partition_spec_id: 0n,
		});
		expect(current.Ok.context.boundary.relation_to_current).toBe('current');
		const byId = await ask(lake, {}, { kind: 'snapshot_id', value: first!.snapshotId });
		expect(plainRows(byId)).toEqual([[1n], [2n]]);
		expect(byId.Ok.context.boundary.relation_to_current).toBe('historical');
		expect(byId.Ok.context.checkpoint_revision).toBe(first!.checkpointRevision);
		expect(byId.Ok.context.global_state_revision).toBe(current.Ok.context.global_state_revision);
		expect(byId.Ok.context.boundary.digest).not.toEqual(current.Ok.context.boundary.digest);
		const at = (value: bigint) => ask(lake, {}, { kind: 'timestamp_micros', value });
		expect(plainRows(await at(second.timestampMicros))).toEqual([[1n], [2n], [3n]]);
		expect(plainRows(await at(second.timestampMicros - 1n))).toEqual([[1n], [2n]]);
		expect((await at(first!.timestampMicros - 1n)).message).toContain('snapshot');
	});

	it('are Parquet files in the data folder, and stay over a restart', async () => {
		const lake = await made([[1], [2]]);
		const [snapshot] = lake.snapshots;
		expect(snapshot!.files).toHaveLength(1);
		expect(existsSync(join(folder, 'lakehouse', snapshot!.files[0]!))).toBe(true);
		await close();
		await open();
		expect(plainRows(await ask(lake))).toEqual([[1n], [2n]]);
		expect((await ask(lake)).Ok.context.resolved_target.snapshot_id).toBe(snapshot!.snapshotId);
	});

	it('without a folder they live in one of their own, which goes with the plane', async () => {
		const before = client;
		await open(undefined);
		const inMemory = plane!;
		const lake = await made([[5]]);
		expect(plainRows(await ask(lake))).toEqual([[5n]]);
		await inMemory.close();
		plane = before.plane;
		client = before;
	});

	it('every kind, exactly', async () => {
		const schema: FieldInput[] = [
			{ name: 'long', type: 'long' },
			{ name: 'ts', type: 'timestamp_micros' },
			{ name: 'tz', type: 'timestamp_tz_micros' },
			{ name: 'day', type: 'date' },
			{ name: 'time', type: 'time_micros' },
			{ name: 'dec', type: { kind: 'decimal', precision: 38, scale: 10 } },
			{ name: 'uuid', type: 'uuid' },
			{ name: 'bin', type: 'binary' },
			{ name: 'fix', type: { kind: 'fixed', length: 2 } },
			{
				name: '__proto__',
				type: {
					kind: 'map',
					key: 'int',
					value: { kind: 'list', element: { kind: 'struct', fields: [{ name: 'x', type: 'float' }] } },
				},
			},
			{ name: 'empty', type: { kind: 'struct', fields: [] } },
			{ name: 'flag', type: 'boolean' },
		];
		const MAX = 2n ** 63n - 1n;
		const map = new Map<ValueInput, ValueInput>([
			[-1, [{ x: 0.5 }, null]],
			[2, null],
		]);
		const rows: RowInput[] = [
			[
				MAX,
				MAX,
				-MAX - 1n,
				2147483647,
				86_399_999_999n,
				`-${'9'.repeat(28)}.${'9'.repeat(10)}`,
				new Uint8Array(16).fill(254),
				new Uint8Array([0, 255]),
				new Uint8Array([1, 2]),
				map,
				{},
				true,
			],
			schema.map(() => null),
			[
				-MAX - 1n,
				-MAX,
				MAX,
				-2147483648,
				0n,
				'0',
				new Uint8Array(16),
				new Uint8Array(),
				new Uint8Array([0, 0]),
				new Map(),
				{},
				false,
			],
		];
		const lake = await made(rows, schema);
		await client.plane.createIndex('same', schema, rows);
		const [fromLake, fromIndex] = [await ask(lake), await client.query('same')];
		expect(fromLake.Ok, text(fromLake)).toBeDefined();
		expect(fromLake.Ok.fields).toEqual(fromIndex.Ok.fields);
		expect(fromLake.Ok.rows).toEqual(fromIndex.Ok.rows);
		expect(fromLake.Ok.rows[1].values.every((value: Answer) => value.kind === 'null')).toBe(true);
	});
});

describe('queries', () => {
	it('filters, orders, groups and counts', async () => {
		const lake = await made(Array.from({ length: 100 }, (_, i) => [i]));
		const filter = { pred: { field: 'id', op: 'gte', value: { kind: 'long', value: 97n } } };
		expect(plainRows(await ask(lake, { filter, order: [{ field: 'id', dir: 'desc' }] }))).toEqual([
			[99n],
			[98n],
			[97n],
		]);
		const aggregate = { funcs: [{ func: 'sum', field: 'id', alias: 'sum' }] };
		expect(plainRows(await ask(lake, { aggregate }))).toEqual([[4950n]]);
		const fields = ['__laser_destination_id', '__laser_destination_generation', '__laser_offset'];
		const reply = await ask(lake, { select: { fields, payload: false }, page: { limit: 1n } });
		expect(plainRows(reply)).toEqual([[lake.id, 1n, 0n]]);
	});

	it('a walk stays in the snapshot of its first page', async () => {
		const lake = await made(Array.from({ length: 10 }, (_, i) => [i]));
		const query = asked(lake, { page: { limit: 3n, want_total: true } });
		let reply = await client.send(1_000_200, { v: 1n, query });
		const { snapshot_id } = reply.Ok.context.resolved_target;
		const seen: unknown[] = [];
		for (;;) {
			seen.push(...plainRows(reply).map(([id]) => id));
			expect(reply.Ok.context.resolved_target.snapshot_id).toBe(snapshot_id);
			const cursor = reply.Ok.page.next_cursor;
			if (cursor === undefined) break;
			await lake.append([[100 + seen.length]]);
			const { execution_id, deadline_micros } = query;
			reply = await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros });
		}
		expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => BigInt(i)));
	});
});

describe('refusals', () => {
	it('an expired snapshot, also under a walk', async () => {
		const lake = await made([[1], [2]]);
		const [first] = lake.snapshots;
		const query = asked(lake, { page: { limit: 1n } });
		const page = await client.send(1_000_200, { v: 1n, query });
		await lake.overwrite([[3]]);
		await lake.expire(first!.snapshotId);
		expect(existsSync(join(folder, 'lakehouse', first!.files[0]!))).toBe(false);
		const expired = { Err: { ExpiredSnapshot: { snapshot_id: first!.snapshotId } } };
		expect(await ask(lake, {}, { kind: 'snapshot_id', value: first!.snapshotId })).toEqual(expired);
		expect(await ask(lake, {}, { kind: 'timestamp_micros', value: first!.timestampMicros })).toEqual(expired);
		const { execution_id, deadline_micros } = query;
		const cursor = page.Ok.page.next_cursor;
		expect(await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros })).toEqual(expired);
		expect(await ask(lake, {}, { kind: 'snapshot_id', value: 7n })).toEqual({
			Err: { ExpiredSnapshot: { snapshot_id: 7n } },
		});
		await expect(lake.expire(lake.snapshots[0]!.snapshotId)).rejects.toThrow('current');
	});

	it('a superseded generation, an unknown destination, one without a snapshot, a consistency it has not', async () => {
		const lake = await made([[1]]);
		const next = await lake.supersede([{ name: 'name', type: 'string' }]);
		expect(await ask(lake)).toEqual({
			Err: { StaleGeneration: { what: 'destination', requested: 1n, observed: 2n } },
		});
		expect(Object.keys((await ask(next)).Err)).toEqual(['TargetUnavailable']);
		await expect(lake.append([[2]])).rejects.toThrow('superseded');
		await next.append([['x']]);
		const reply = await ask(next);
		expect(plainRows(reply)).toEqual([['x']]);
		expect(reply.Ok.context.resolved_target.table_uuid).not.toEqual(lake.tableUuid);
		const unknown = { id: new Uint8Array(16).fill(3), generation: 1n } as DevDestination;
		expect(await ask(unknown)).toEqual({ Err: { IndexNotFound: '030C1G60R30C1G60R30C1G60R3' } });
		expect((await ask(next, { consistency: 'read_your_writes' })).Err.Unsupported).toContain(
			'read_your_writes',
		);
		expect((await ask(next, {}, { kind: 'snapshot_id', value: 0n })).message).toContain('snapshot');
	});
});

describe('reads of destinations', () => {
	it('one, all, page by page, and none', async () => {
		const lakes = [
			await made([[1]]),
			await made(),
			await client.plane.createDestination({
				name: 'other',
				schema: SCHEMA,
				source: { stream: 's', topic: 't' },
			}),
		];
		const get = (id: Uint8Array) =>
			client.send(1_000_022, { v: 1n, destination_id: id, consistency: 'linearizable' });
		const { destination, status } = (await get(lakes[0]!.id)).Destination;
		for (const key of ['backend', 'schema', 'projection', 'definition_revision'])
			expect(status[key]).toEqual(destination[key]);
		expect(status).toMatchObject({
			destination_id: lakes[0]!.id,
			effective_state: 'ready',
			table_uuid: lakes[0]!.tableUuid,
			consistency: 'linearizable',
		});
		expect(destination).toMatchObject({
			name: 'orders',
			file_format: 'parquet',
			table: { namespace: ['tidemark'], table: 'orders' },
		});
		expect(await get(new Uint8Array(16).fill(1))).toEqual({ Destination: null });
		const list = (extra: object) =>
			client.send(1_000_023, { v: 1n, filter: {}, limit: 2n, consistency: 'potentially_stale', ...extra });
		const first = (await list({})).Destinations;
		const rest = (await list({ after: first.next_after })).Destinations;
		const ids = [...first.destinations, ...rest.destinations].map((view: Answer) =>
			Buffer.from(view.destination.id).toString('hex'),
		);
		expect(ids).toEqual(lakes.map((lake) => Buffer.from(lake.id).toString('hex')).sort());
		expect(rest.next_after).toBeUndefined();
		expect(first.global_state_revision).toBeGreaterThan(0n);
		for (const view of first.destinations)
			expect(view.status.global_state_revision <= first.global_state_revision).toBe(true);
		expect((await list({ filter: { source_stream: 's' } })).Destinations.destinations).toHaveLength(1);
		expect((await list({ filter: { name_contains: 'rder' } })).Destinations.destinations).toHaveLength(2);
		expect((await list({ limit: 0n })).Err.Invalid).toContain('page_limit');
		expect((await list({ v: 2n })).Err).toEqual({ Version: { expected: 1n, got: 2n } });
		const routes = await client.send(1_000_024, { v: 1n, limit: 5n, consistency: 'linearizable' });
		expect(routes.QueryRoutes).toMatchObject({ routes: [], consistency: 'linearizable' });
	});
});
