import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import type * as Tidemark from '../../js/index.js';
import { program } from './python.js';

// The built package, as an application gets it.
const built = new URL('../../dist/index.js', import.meta.url).href;
const { Laser, ProjectionBuilder, ProjectionBindingBuilder } = (await import(built)) as typeof Tidemark;

let server: DevServer;
let tcp: string;
let ws: string;

beforeEach(async () => {
	server = await startServer({ ws: '127.0.0.1:0', tcp: '127.0.0.1:0' });
	tcp = `iggy+tcp://iggy:iggy@${server.addresses.tcp}`;
	ws = `iggy+ws://iggy:iggy@${server.addresses.ws!.slice('ws://'.length)}`;
});
afterEach(() => server.close());

const connect = (stream?: string): Promise<Tidemark.Laser> =>
	Laser.connect(server.addresses.ws!, {
		username: 'iggy',
		password: 'iggy',
		...(stream === undefined ? {} : { stream }),
	});

const text = (hex: string): string => Buffer.from(hex, 'hex').toString();

describe('the vendor’s clients', () => {
	it('stream over TCP', async () => {
		await program('streaming_apache_iggy', tcp);
	});

	it('stream over WebSocket', async () => {
		await program('streaming_apache_iggy', ws);
	});

	it('stream with the managed client', async () => {
		expect(await program('streaming_laser_sdk', tcp)).toEqual(['hello: answered managed: True']);
	});

	it('register, bind, watch and query', async () => {
		expect(await program('managed_laser_sdk', tcp)).toEqual(['offsets to keep: [1]']);
	});
});

describe('side by side on one server', () => {
	it.each([
		['TCP', () => tcp],
		['WebSocket', () => ws],
	])('what they publish over %s is read here, headers of every kind included', async (_, url) => {
		await program('publish_headers', url());
		await using laser = await connect();
		const [every, numbered, bare, ...more] = await laser.stream('theirs').topic('headers').reader().poll();
		expect(more).toEqual([]);
		expect(every!.text()).toBe('every kind');
		expect(every!.id).toBe(2n ** 127n + 5n);
		expect(every!.headers).toEqual(
			new Map<string, unknown>([
				['raw', Uint8Array.of(0, 255, 2)],
				['string', 'zażółć'],
				['bool', true],
				['int8', -128],
				['int16', -32768],
				['int32', -(2 ** 31)],
				['int64', -(2n ** 63n)],
				['int128', -(2n ** 127n)],
				['uint8', 255],
				['uint16', 65535],
				['uint32', 2 ** 32 - 1],
				['uint64', 2n ** 64n - 1n],
				['uint128', 2n ** 128n - 1n],
				['float32', 1.5],
				['float64', -0.1],
				['__proto__', 'a legal name'],
			]),
		);
		// Only headers with text names are offered by name.
		expect([numbered!.text(), numbered!.headers]).toEqual(['numbered key', new Map([['named', false]])]);
		expect([bare!.payload, bare!.headers.size]).toEqual([Uint8Array.of(0, 1, 254, 255), 0]);
	});

	it('what is published here they read, with its headers', async () => {
		await using laser = await connect('acme');
		const topic = laser.topic('orders');
		await topic.ensure(1);
		await topic.publish().json({ id: 4 }).header('trace', 'zażółć').header('__proto__', 'x').send();
		await topic.publish().rawBytes(Uint8Array.of(1, 2), 'avro').schemaId(9).index('status', 'paid').send();
		await topic.publishBatch().addPayload(Uint8Array.of(0, 255)).addPayload(Uint8Array.of(3)).send();
		const lines = await program('read_records', tcp, 'acme', 'orders');
		const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
		expect(read.map((one) => one['offset'])).toEqual([0, 1, 2, 3]);
		expect(text(read[0]!['payload'] as string)).toBe('{"id":4}');
		expect(read[0]!['headers']).toMatchObject({
			trace: ['String', 'zażółć'],
			'agdx.ct': ['UnsignedInt8', '1'],
		});
		expect(Object.entries(read[0]!['headers'] as object)).toContainEqual(['__proto__', ['String', 'x']]);
		expect(Object.keys(read[1]!['headers'] as object).sort()).toEqual(
			expect.arrayContaining(['agdx.ct', 'agdx.sid']),
		);
		expect(read.slice(2).map((one) => one['payload'])).toEqual(['00ff', '03']);
	});

	it('headers of every kind that are stored, they read as they are', async () => {
		const field = (kind: number, bytes: Uint8Array): Buffer => {
			const head = Buffer.alloc(5);
			head[0] = kind;
			head.writeUInt32LE(bytes.length, 1);
			return Buffer.concat([head, bytes]);
		};
		const lengths = [3, 2, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8];
		const block = Buffer.concat(
			lengths.flatMap((length, index) => [
				field(2, Buffer.from(`k${index + 1}`)),
				field(index + 1, Buffer.alloc(length, index === 1 ? 0x61 : 1)),
			]),
		);
		await server.log.ensureTopic('ours', 't', 1);
		await server.log.append('ours', 't', 0, [{ payload: Buffer.from('p'), headers: block }]);
		const [line] = await program('read_records', ws, 'ours', 't');
		const { headers } = JSON.parse(line!) as { headers: Record<string, [string, unknown]> };
		expect(Object.values(headers).map(([kind]) => kind)).toEqual(
			expect.arrayContaining([
				'Raw',
				'String',
				'Bool',
				'Int8',
				'Int128',
				'UnsignedInt128',
				'Float32',
				'Float64',
			]),
		);
		expect(Object.keys(headers)).toHaveLength(15);
		expect(headers['k7']).toEqual(['Int64', '72340172838076673']);
	});

	it('what they register and publish is watched and queried here', async () => {
		await program('publish_managed', tcp);
		await using laser = await connect('acme');
		await server.plane!.settle();
		const reader = await laser.watch().index('orders_v1').records();
		const changes = await reader.poll();
		expect(changes.reduce((sum, change) => sum + Number(change.rows), 0)).toBe(5);
		const listed = await laser.projections().list().fetch();
		expect(listed.map((one) => one.projection.id)).toEqual(['orders_v1.v1']);
		const records = await laser.topic('orders').reader().poll();
		expect(records.at(-1)!.text()).toBe('raw');
		expect(records.at(-1)!.headers.get('kind')).toBe('test');
		const result = await laser.query('orders_v1').whereEq('status', 'paid').limit(10).fetch();
		expect(result.rowCount).toBe(3);
	});

	it('what is registered and published here they watch and query', async () => {
		await using laser = await connect('acme');
		const topic = laser.topic('orders');
		await topic.ensure(1);
		const projection = new ProjectionBuilder('orders_v1.v1').name('orders').contentType('json');
		await laser.projections().register(projection.fields(['id', 'status', 'total']).build());
		const binding = new ProjectionBindingBuilder().source('acme', 'orders').allow('orders_v1.v1');
		await laser
			.bindings()
			.apply(binding.defaultProjection('orders_v1.v1').index('orders_v1').notify().build());
		await expect.poll(() => laser.projections().get('orders_v1.v1')).toBeDefined();
		for (const id of [1, 2, 3, 4]) {
			const row = { id, status: id % 2 === 0 ? 'paid' : 'open', total: 10 * id };
			await topic.publish().json(row).header('number', String(id)).send();
		}
		const [line] = await program('watch_managed', tcp);
		const seen = JSON.parse(line!) as Record<string, unknown>;
		expect(seen).toMatchObject({ rows: 4, index: 'stream:acme/orders_v1', partition: 0, paid: ['2', '4'] });
		expect((seen['payloads'] as string[]).map((one) => JSON.parse(one).id)).toEqual([1, 2, 3, 4]);
		// Their client keeps the headers of the contract itself to itself.
		expect((seen['headers'] as object[])[2]).toEqual({ number: '3' });
	});
});
