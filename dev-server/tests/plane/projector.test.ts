import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlane, type DevPlane } from '../../src/plane/index.js';
import { encodeCbor } from '../../src/plane/wire/cbor.js';
import { type Answer, headerBlock, OPTIONS, string, TestClient, uint8 } from './client.js';
import { MemoryLog } from './memory_log.js';

const FIELDS = [
	{ name: 'id', pointer: '/id' },
	{ name: 'value', pointer: '/value' },
];
const SOURCE = { stream: 's', topic: 't' };

let log: MemoryLog;
let folder: string;
const folders: string[] = [];
const opened = new Set<DevPlane>();

async function open(dataDir?: string, options = {}): Promise<TestClient> {
	const plane = await createPlane(log, {
		...OPTIONS,
		...options,
		...(dataDir === undefined ? {} : { dataDir }),
	});
	opened.add(plane);
	return new TestClient(plane, log);
}

async function close(client: TestClient): Promise<void> {
	opened.delete(client.plane);
	log.detach();
	await client.plane.close();
}

async function bind(
	client: TestClient,
	extra: Record<string, unknown> = {},
	fields: unknown[] = FIELDS,
): Promise<void> {
	await client.registerProjection('p', fields);
	const reply = await client.applyBinding({
		source: SOURCE,
		default_projection: 'p',
		index: 'x',
		notify: true,
		...extra,
	});
	expect(reply).toEqual({ code: 'ok', message: '' });
}

/** The files as a kill at this moment leaves them. */
function diskImage(): string {
	const image = mkdtempSync(join(tmpdir(), 'plane-image-'));
	folders.push(image);
	cpSync(folder, image, { recursive: true });
	return image;
}

beforeEach(async () => {
	log = new MemoryLog();
	await log.ensureTopic('s', 't', 2);
	folder = mkdtempSync(join(tmpdir(), 'plane-'));
	folders.push(folder);
});

afterEach(async () => {
	for (const plane of opened) await plane.close();
	opened.clear();
	for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

describe('values', () => {
	async function column(values: string[]): Promise<{ kind: string; values: unknown[] }> {
		const client = await open();
		await bind(client);
		for (const [i, value] of values.entries())
			await client.publish('s', 't', 0, [`{"id":${i},"value":${value}}`]);
		await client.plane.settle();
		const reply = await client.query('x', { select: { fields: ['value'], payload: false } });
		return {
			kind: reply.Ok.fields[0].field_type.kind,
			values: reply.Ok.rows.map((row: Answer) => row.values[0].value ?? null),
		};
	}

	it('integers keep every digit', async () => {
		expect(await column(['9007199254740993', '-9223372036854775808', '9223372036854775807'])).toEqual({
			kind: 'long',
			values: [9007199254740993n, -9223372036854775808n, 9223372036854775807n],
		});
	});

	it('a fraction or exponent makes a double, also 20.0', async () => {
		expect(await column(['20.0', '1e3'])).toEqual({ kind: 'double', values: [20, 1000] });
	});

	it('a long column widens to double while every value stays exact', async () => {
		expect(await column(['20', '12.5', '30'])).toEqual({ kind: 'double', values: [20, 12.5, 30] });
	});

	it('a long column with a value that no double holds widens to text instead', async () => {
		expect(await column(['9007199254740993', '0.5'])).toEqual({
			kind: 'string',
			values: ['9007199254740993', '0.5'],
		});
	});

	it('an integer wider than 64 bits is kept as text', async () => {
		expect(await column(['1', '123456789012345678901234567890'])).toEqual({
			kind: 'string',
			values: ['1', '123456789012345678901234567890'],
		});
	});

	it('mixed kinds become text, objects their JSON', async () => {
		expect(await column(['true', '"yes"', '{"a":[1,2.5,null]}', 'null'])).toEqual({
			kind: 'string',
			values: ['true', 'yes', '{"a":[1,2.5,null]}', null],
		});
	});

	it('text keeps every character, a zero character too', async () => {
		expect((await column(['"a\\u0000b"', '"\\ud83d\\ude00é"', '""'])).values).toEqual([
			'a\u0000b',
			'😀é',
			'',
		]);
	});

	it('a declared type takes only its own values', async () => {
		const client = await open();
		await bind(client, {}, [
			{ name: 'id', pointer: '/id' },
			{ name: 'value', pointer: '/value', field_type: 'int' },
		]);
		await client.publish('s', 't', 0, ['{"id":1,"value":"x"}', '{"id":2,"value":2.5}', '{"id":3,"value":3}']);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([
			[1n, null],
			[2n, null],
			[3n, 3n],
		]);
	});

	it('names that objects have by themselves are plain names', async () => {
		const client = await open();
		await bind(client, {}, [
			{ name: '__proto__', pointer: '/__proto__' },
			{ name: 'constructor', pointer: '/constructor' },
		]);
		await client.publish('s', 't', 0, ['{"__proto__":1}', '{}']);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([[1n, null]]);
	});
});

describe('records', () => {
	it('explicit index headers win, and alone are enough for a row', async () => {
		const client = await open();
		await bind(client);
		const headers = headerBlock({
			'agdx.ct': uint8(1),
			'agdx.idx.value': string('explicit'),
			'agdx.idx.extra': string('e'),
		});
		await client.publish('s', 't', 0, ['{"id":1,"value":"body"}'], headers);
		await client.publish(
			's',
			't',
			0,
			[Uint8Array.of(0xff, 0xfe)],
			headerBlock({ 'agdx.ct': uint8(0), 'agdx.idx.value': string('opaque') }),
		);
		await client.plane.settle();
		const reply = await client.query('x');
		expect(reply.Ok.fields.map((f: Answer) => f.name)).toEqual(['id', 'value', 'extra']);
		expect(await client.rows('x')).toEqual([
			[1n, 'explicit', 'e'],
			[null, 'opaque', null],
		]);
	});

	it('bodies without an indexed field, broken ones and opaque ones make no row but advance', async () => {
		const client = await open();
		await bind(client);
		await client.publish('s', 't', 0, ['{"other":1}', '{"id":', '[]', Uint8Array.of(1, 2, 3)]);
		await client.publish('s', 't', 0, ['{"id":1}'], headerBlock({ 'agdx.ct': uint8(0) }));
		await client.publish('s', 't', 0, ['{"id":2}'], new Uint8Array());
		await client.publish('s', 't', 0, ['{"id":3}'], Uint8Array.of(9, 9, 9));
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([
			[2n, null],
			[3n, null],
		]);
		const changes = await client.changes();
		expect(changes.at(-1).to_offset).toBe(6n);
		expect(changes.reduce((sum: bigint, c: Answer) => sum + c.rows, 0n)).toBe(2n);
		expect(client.plane.projectorCounts().skipped.no_indexed_field).toBe(5);
	});

	it('CBOR bodies are read by their content type', async () => {
		const client = await open();
		await bind(client);
		const payload = encodeCbor({ id: 5n, value: 2.5 });
		await client.publish('s', 't', 0, [payload], headerBlock({ 'agdx.ct': uint8(3) }));
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([[5n, 2.5]]);
	});

	it('agdx.ref chooses among the allowed projections; another is skipped', async () => {
		const client = await open();
		await client.registerProjection('q', [{ name: 'id', pointer: '/key' }]);
		await bind(client, { allowed_projections: ['p', 'q'] });
		const ref = (id: string) => headerBlock({ 'agdx.ct': uint8(1), 'agdx.ref': string(id) });
		await client.publish('s', 't', 0, ['{"id":1,"key":7}'], ref('q'));
		await client.publish('s', 't', 0, ['{"id":2}'], ref('r'));
		await client.plane.settle();
		expect(await client.rows('x', { select: { fields: ['id'], payload: false } })).toEqual([[7n]]);
		expect(client.plane.projectorCounts().skipped.projection_not_allowed).toBe(1);
	});

	it('records wait for a projection that is registered later', async () => {
		const client = await open();
		await client.applyBinding({ source: SOURCE, default_projection: 'p', index: 'x' });
		await client.publish('s', 't', 0, ['{"id":1}']);
		await client.plane.settle();
		expect(await client.query('x')).toMatchObject({ Ok: { rows: [] } });
		await client.registerProjection('p', FIELDS);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([[1n, null]]);
	});

	it('one source feeds several indexes, each with its own change records', async () => {
		const client = await open();
		await bind(client);
		await bind(client, { index: 'y' });
		await client.publish('s', 't', 1, ['{"id":1}']);
		await client.plane.settle();
		expect((await client.changes()).map((c) => c.index).sort()).toEqual(['x', 'y']);
		expect(await client.rows('y')).toEqual([[1n, null]]);
	});
});

describe('restart', () => {
	it('nothing is lost or doubled, and everything registered is there', async () => {
		let client = await open(folder);
		await bind(client);
		await client.publish('s', 't', 0, ['{"id":1}', '{"id":2}']);
		await client.plane.settle();
		await close(client);
		// Appended while no plane runs: between append and projection.
		await client.publish('s', 't', 0, ['{"id":3}']);
		await client.publish('s', 't', 1, ['{"id":4}']);
		client = await open(folder);
		await client.plane.settle();
		const ids = await client.rows('x', {
			select: { fields: ['id'], payload: false },
			order: [{ field: 'id', dir: 'asc' }],
		});
		expect(ids).toEqual([[1n], [2n], [3n], [4n]]);
		const ranges = (await client.changes()).map((c) => [c.partition_id, c.from_offset, c.to_offset]);
		expect(ranges).toEqual([
			[0n, 0n, 1n],
			[0n, 2n, 2n],
			[1n, 0n, 0n],
		]);
		expect((await client.send(1_000_210, { v: 1n, id: 'p' })).Ok.Projection.bindings).toHaveLength(1);
	});

	it('a stored outcome answers a repeat after the restart', async () => {
		let client = await open(folder);
		const register = {
			RegisterProjection: {
				id: 'a',
				name: '',
				version: 1n,
				content_type: 'json',
				extraction: { fields: [] },
			},
		};
		await client.control(register, 42n);
		await client.control({ DropProjection: 'a' }, 43n);
		await close(client);
		client = await open(folder);
		expect((await client.control(register, 42n)).code).toBe('ok');
		expect((await client.send(1_000_210, { v: 1n, id: 'a' })).Ok.Projection).toBeNull();
	});

	it('a kill at any moment leaves each row exactly once', async () => {
		const client = await open(folder);
		await bind(client);
		let published = 0;
		const images: string[] = [];
		for (let round = 0; round < 12; round++) {
			const batch = Array.from({ length: 50 }, () => ({ id: published++ }));
			await client.publish('s', 't', round % 2, batch);
			// What a kill at this moment leaves on disk, while the projector is at work.
			await new Promise((resolve) => setTimeout(resolve, round * 3));
			images.push(diskImage());
		}
		await close(client);
		for (const image of images) {
			const survivor = await open(image);
			await survivor.plane.settle();
			const fields = ['id', '__laser_partition_id', '__laser_offset'];
			const rows = await survivor.rows('x', { select: { fields, payload: false }, page: { limit: 1000n } });
			expect(rows.length).toBe(published);
			expect(new Set(rows.map(([id]) => id)).size).toBe(published);
			await close(survivor);
		}
	});

	it('rows of records that the log lost in a crash go, and what follows is projected', async () => {
		let client = await open(folder);
		await bind(client);
		await client.publish('s', 't', 0, ['{"id":1}', '{"id":2}', '{"id":3}']);
		await client.plane.settle();
		await close(client);
		log.loseTail('s', 't', 0, 1);
		await client.publish('s', 't', 0, []);
		client = await open(folder);
		await client.plane.settle();
		await client.publish('s', 't', 0, ['{"id":4}']);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([
			[1n, null],
			[2n, null],
			[4n, null],
		]);
	});

	it('a change that was owed when the process died is published after the restart', async () => {
		const client = await open(folder);
		await bind(client);
		const append = log.append.bind(log);
		let image: string | undefined;
		let alive = true;
		log.append = async (stream, topic, partition, records) => {
			if (stream === '_agdx' && alive) {
				image ??= diskImage();
				throw new Error('killed before the change was appended');
			}
			return append(stream, topic, partition, records);
		};
		await client.publish('s', 't', 0, ['{"id":1}']);
		await client.plane.settle();
		expect(image).toBeDefined();
		await close(client);
		expect(await client.changes()).toEqual([]);
		alive = false;
		const survivor = await open(image);
		await survivor.plane.settle();
		expect(await survivor.changes()).toEqual([
			{ v: 1n, index: 'x', partition_id: 0n, from_offset: 0n, to_offset: 0n, rows: 1n },
		]);
		expect(await survivor.rows('x')).toEqual([[1n, null]]);
	});
});

describe('a feed that fails for a while', () => {
	it('gets the change later from the same plane, once', async () => {
		const client = await open();
		await bind(client);
		const append = log.append.bind(log);
		let failures = 2;
		log.append = async (stream, topic, partition, records) => {
			if (stream === '_agdx' && failures-- > 0) throw new Error('full');
			return append(stream, topic, partition, records);
		};
		await client.publish('s', 't', 0, ['{"id":1}']);
		const until = Date.now() + 5000;
		while ((await client.changes()).length === 0 && Date.now() < until) {
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		await client.plane.settle();
		expect(await client.changes()).toHaveLength(1);
		expect(await client.rows('x')).toEqual([[1n, null]]);
	});
});

describe('sources that change', () => {
	it('a trimmed log is projected from what is retained', async () => {
		const client = await open();
		await client.publish('s', 't', 0, ['{"id":1}', '{"id":2}', '{"id":3}']);
		log.trim('s', 't', 0, 2n);
		await bind(client);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([[3n, null]]);
		log.trim('s', 't', 0, 3n);
		expect((await client.query('x', { consistency: 'read_your_writes' })).Ok.rows).toHaveLength(1);
	});

	it('a recreated topic is projected from its beginning', async () => {
		const client = await open();
		await bind(client, { retention: { kind: 'keep_until_source_deleted' } });
		await client.publish('s', 't', 0, ['{"id":1}', '{"id":2}']);
		await client.plane.settle();
		log.deleteTopic('s', 't');
		await client.plane.settle();
		await log.ensureTopic('s', 't', 1);
		await client.publish('s', 't', 0, ['{"id":9}']);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([[9n, null]]);
	});

	it('without a policy the rows of a deleted topic stay', async () => {
		const client = await open();
		await bind(client);
		await client.publish('s', 't', 0, ['{"id":1}']);
		await client.plane.settle();
		log.deleteTopic('s', 't');
		await log.ensureTopic('s', 't', 1);
		await client.publish('s', 't', 0, ['{"id":2}']);
		await client.plane.settle();
		expect(await client.rows('x')).toEqual([
			[1n, null],
			[2n, null],
		]);
	});

	it('added partitions are followed', async () => {
		const client = await open();
		await log.ensureTopic('s', 'late', 3);
		await bind(client, { source: { stream: 's', topic: 'late' } });
		for (const p of [2, 0, 1]) await client.publish('s', 'late', p, [`{"id":${p}}`]);
		await client.plane.settle();
		expect(await client.rows('x', { order: [{ field: 'id', dir: 'asc' }] })).toEqual([
			[0n, null],
			[1n, null],
			[2n, null],
		]);
	});
});

describe('row retention', () => {
	it('max_rows keeps the newest', async () => {
		const client = await open();
		await bind(client, { retention: { kind: 'max_rows', rows: 3n } });
		for (let id = 0; id < 10; id++) await client.publish('s', 't', 0, [{ id }]);
		await client.plane.settle();
		expect((await client.rows('x')).map(([id]) => id)).toEqual([7n, 8n, 9n]);
	});

	it('time_to_live lets rows go by their append time', async () => {
		const client = await open();
		await bind(client, { retention: { kind: 'time_to_live', ttl_micros: 300_000n } });
		await client.publish('s', 't', 0, [{ id: 1 }]);
		await client.plane.settle();
		expect(await client.rows('x')).toHaveLength(1);
		const gone = async () => (await client.rows('x')).length === 0;
		const until = Date.now() + 5000;
		while (!(await gone()) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
		expect(await gone()).toBe(true);
	});

	it('mirror_log lets go what the log has trimmed', async () => {
		const client = await open();
		await bind(client, { retention: { kind: 'mirror_log' } });
		await client.publish('s', 't', 0, [{ id: 1 }, { id: 2 }]);
		await client.publish('s', 't', 1, [{ id: 3 }]);
		await client.plane.settle();
		log.trim('s', 't', 0, 1n);
		await client.publish('s', 't', 0, [{ id: 4 }]);
		await client.plane.settle();
		expect((await client.rows('x', { order: [{ field: 'id', dir: 'asc' }] })).map(([id]) => id)).toEqual([
			2n,
			3n,
			4n,
		]);
	});
});

describe('feed', () => {
	it('an index keeps to one feed partition', async () => {
		const client = await open(undefined, { feedPartitions: 3 });
		await bind(client);
		for (let id = 0; id < 6; id++) {
			await client.publish('s', 't', id % 2, [{ id }]);
			await client.plane.settle();
		}
		const counts = await Promise.all([0, 1, 2].map(async (p) => (await client.changes('changes', p)).length));
		expect(counts.sort()).toEqual([0, 0, 6]);
	});

	it('under stream tenancy a scoped index has the feed topic of its stream', async () => {
		const client = await open(undefined, { streamTenancy: true });
		await client.registerProjection('stream:s/p', FIELDS);
		await client.applyBinding({
			source: SOURCE,
			default_projection: 'stream:s/p',
			index: 'stream:s/x',
			notify: true,
		});
		await client.publish('s', 't', 0, ['{"id":1}']);
		await client.plane.settle();
		expect(await client.changes('stream:s/_agdx/changes')).toEqual([
			{ v: 1n, index: 'stream:s/x', partition_id: 0n, from_offset: 0n, to_offset: 0n, rows: 1n, stream: 's' },
		]);
		expect(await client.changes()).toEqual([]);
	});
});

describe('speed', () => {
	it('projects at least 20,000 records in a second of processor time', async () => {
		const client = await open(folder);
		await bind(
			client,
			{},
			['id', 'status', 'total', 'customer', 'at'].map((name) => ({ name, pointer: `/${name}` })),
		);
		const batch = (from: number) =>
			Array.from({ length: 1000 }, (_, i) => ({
				id: from + i,
				status: 'paid',
				total: i / 4,
				customer: `c-${i % 97}`,
				at: 1_700_000_000_000_000 + i,
			}));
		for (let i = 0; i < 60; i++) await client.publish('s', 't', 0, batch(i * 1000));
		await client.plane.settle();
		const before = client.plane.projectorCounts().records;
		// Processor time of all threads, so that a busy machine does not decide.
		const began = process.cpuUsage();
		for (let i = 0; i < 60; i++) await client.publish('s', 't', 1, batch(i * 1000));
		await client.plane.settle();
		const spent = process.cpuUsage(began);
		const seconds = (spent.user + spent.system) / 1e6;
		const rate = (client.plane.projectorCounts().records - before) / seconds;
		expect(rate).toBeGreaterThan(20_000);
		const count = { funcs: [{ func: 'count', alias: 'n' }] };
		expect(await client.rows('x', { aggregate: count })).toEqual([[120_000n]]);
	});
});
