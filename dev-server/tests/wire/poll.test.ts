import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openWebSocket } from './client.js';
import { Driver, result, status } from './driver.js';
import * as build from './requests.js';

let server: DevServer;
let driver: Driver;

beforeEach(async () => {
	server = await startServer({ ws: '127.0.0.1:0', plane: false });
	driver = new Driver(await openWebSocket(server.addresses.ws!));
	await driver.login();
	await driver.createTopic('s', 't', 2);
});
afterEach(() => server.close());

const offsets = (polled: build.Polled): bigint[] => polled.messages.map((one) => one.offset);

describe('polling', () => {
	beforeEach(async () => {
		await driver.send('s', 't', 0, 'a', 'b', 'c');
		await driver.send('s', 't', 0, 'd', 'e', 'f', 'g');
		await driver.send('s', 't', 0, 'h');
	});

	it.each([
		[0n, 100, [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]],
		[0n, 3, [0n, 1n, 2n]],
		[0n, 2, [0n, 1n]],
		[1n, 1, [1n]],
		[2n, 3, [2n, 3n, 4n]],
		[4n, 2, [4n, 5n]],
		[5n, 100, [5n, 6n, 7n]],
		[7n, 1, [7n]],
		[8n, 10, []],
		[2n ** 64n - 1n, 10, []],
		[0n, 0, []],
	])('from offset %s, count %i cuts batches to what was asked', async (value, count, expected) => {
		const polled = await driver.poll('s', 't', { value, count });
		expect(offsets(polled)).toEqual(expected);
		expect(polled.count).toBe(expected.length);
		expect(polled.current).toBe(7n);
	});

	it('every start and count agrees with the history', async () => {
		const all = (await driver.poll('s', 't')).messages;
		for (let from = 0; from < 9; from++) {
			for (let count = 1; count < 10; count++) {
				const polled = await driver.poll('s', 't', { value: BigInt(from), count });
				expect(polled.messages).toEqual(all.slice(from, from + count));
			}
		}
	});

	it('knows first, last and a time', async () => {
		expect(offsets(await driver.poll('s', 't', { kind: 3, count: 2 }))).toEqual([0n, 1n]);
		expect(offsets(await driver.poll('s', 't', { kind: 4, count: 3 }))).toEqual([5n, 6n, 7n]);
		expect(offsets(await driver.poll('s', 't', { kind: 4, count: 99 }))).toHaveLength(8);
		const second = (await server.log.read('s', 't', 0, 3n, 1))[0]!.timestampMicros;
		expect(offsets(await driver.poll('s', 't', { kind: 2, value: second }))[0]).toBe(3n);
		expect(offsets(await driver.poll('s', 't', { kind: 2, value: second + 1n }))[0]).toBe(7n);
		expect(offsets(await driver.poll('s', 't', { kind: 2, value: second * 2n }))).toEqual([]);
	});

	it('next goes on behind the stored offset of this consumer alone', async () => {
		const next = { kind: 5, count: 3, autoCommit: true };
		expect(offsets(await driver.poll('s', 't', next))).toEqual([0n, 1n, 2n]);
		expect(offsets(await driver.poll('s', 't', next))).toEqual([3n, 4n, 5n]);
		const other = { ...next, consumer: build.consumer('other') };
		expect(offsets(await driver.poll('s', 't', other))).toEqual([0n, 1n, 2n]);
		expect(offsets(await driver.poll('s', 't', { ...next, partitionId: 1 }))).toEqual([]);
	});

	it('without a partition reads partition 0', async () => {
		const body = build.pollBody('s', 't', { partitionId: 1 });
		const at = body.indexOf(build.partition(1));
		build.u8(0).copy(body, at);
		const polled = build.readPoll(await driver.read(100, body));
		expect([polled.partitionId, polled.count]).toEqual([0, 8]);
	});

	it('of what is missing gets the status for it', async () => {
		expect((await driver.poll('nope', 't')).status).toBe(1009);
		expect((await driver.poll('s', 'nope')).status).toBe(2010);
		expect((await driver.poll('s', 't', { partitionId: 7 })).status).toBe(3007);
		expect(status(await driver.read(100, Buffer.from([9, 9])))).toBe(3);
	});

	it('below the retained start silently begins there', async () => {
		await server.faults.apply({ kind: 'trim', stream: 's', topic: 't', partition: 0, before: 4 });
		expect(offsets(await driver.poll('s', 't', { value: 0n, count: 2 }))).toEqual([4n, 5n]);
		expect(offsets(await driver.poll('s', 't', { kind: 4, count: 99 }))).toEqual([4n, 5n, 6n, 7n]);
		await server.faults.apply({ kind: 'trim', stream: 's', topic: 't', partition: 0 });
		const empty = await driver.poll('s', 't', { value: 0n });
		expect([empty.count, empty.current]).toEqual([0, 7n]);
		await driver.send('s', 't', 0, 'i');
		expect(offsets(await driver.poll('s', 't', { value: 0n }))).toEqual([8n]);
	});
});

describe('offsets', () => {
	it.each([2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 3n])('count up from %s without loss', async (first) => {
		await server.faults.apply({
			kind: 'base_offset',
			stream: 's',
			topic: 't',
			partition: 1,
			offset: `${first}`,
		});
		await driver.send('s', 't', 1, 'a', 'b', 'c');
		const polled = await driver.poll('s', 't', { partitionId: 1, value: first + 1n, autoCommit: true });
		expect(offsets(polled)).toEqual([first + 1n, first + 2n]);
		expect(polled.current).toBe(first + 2n);
		const body = [build.consumer('reader'), build.named('s'), build.named('t'), build.partition(1)];
		const stored = await driver.read(120, Buffer.concat(body));
		expect(stored.readBigUInt64LE(256 + 12)).toBe(first + 2n);
	});

	it('end at 2^64-1: a send beyond is refused, a poll behind it is empty', async () => {
		await server.faults.apply({ kind: 'base_offset', stream: 's', topic: 't', offset: `${2n ** 64n - 2n}` });
		await driver.send('s', 't', 0, 'a');
		expect(status(await driver.send('s', 't', 0, 'b', 'c'))).toBe(4100);
		expect(status(await driver.send('s', 't', 0, 'b'))).toBe(0);
		expect(status(await driver.send('s', 't', 0, 'c'))).toBe(4100);
		const next = { kind: 5, autoCommit: true };
		expect(offsets(await driver.poll('s', 't', next))).toEqual([2n ** 64n - 2n, 2n ** 64n - 1n]);
		expect(offsets(await driver.poll('s', 't', next))).toEqual([]);
	});
});

describe('a batch that is not right', () => {
	const good = (): Buffer =>
		build.sendBody('s', 't', 0, [{ payload: Buffer.from('hello') }, { payload: Buffer.from('world') }]);
	const head = 4 + 3 + 3 + 6 + 4;
	const cases: [string, (body: Buffer) => Buffer, number][] = [
		['with a changed payload', (body) => flip(body, body.length - 1), 4027],
		['with a changed batch checksum', (body) => flip(body, head + 40), 4039],
		['with reserved bytes set', (body) => flip(body, head + 100), 3],
		['with a count that differs from the request', (body) => flip(body, head - 4), 3],
		['with a length beyond its end', (body) => flip(body, head + 32), 3],
		['with a frame beyond its end', (body) => flip(body, head + 256 + 39), 3],
		['cut short', (body) => body.subarray(0, body.length - 1), 3],
		['with a byte behind it', (body) => Buffer.concat([body, Buffer.alloc(1)]), 3],
		[
			'without messages',
			() => Buffer.concat([good().subarray(0, head - 4), build.u32(0), build.batch([])]),
			3,
		],
	];
	it.each(cases)('%s is refused and stores nothing', async (_, change, expected) => {
		expect(status(await driver.write(160, change(good())))).toBe(expected);
		expect(server.log.end('s', 't', 0)).toBe(0n);
		expect(status(await driver.write(160, good()))).toBe(0);
	});

	it('every prefix of a send is refused', async () => {
		const body = good();
		for (let length = 0; length < body.length; length += 7) {
			expect(status(await driver.write(160, body.subarray(0, length)))).not.toBe(0);
		}
		expect(server.log.end('s', 't', 0)).toBe(0n);
	});

	function flip(body: Buffer, at: number): Buffer {
		body[at] = body[at]! ^ 0x41;
		return body;
	}
});

describe('topics', () => {
	it('made again under one name have a new id and a later creation time', async () => {
		const record = async (): Promise<[number, bigint]> => {
			const reply = await driver.read(300, Buffer.concat([build.named('s'), build.named('t')]));
			return [reply.readUInt32LE(256), reply.readBigUInt64LE(260)];
		};
		const before = await record();
		expect(result(await driver.write(134, Buffer.concat([build.named('s'), build.named('t')])))).toBe(0);
		expect((await driver.read(300, Buffer.concat([build.named('s'), build.named('t')]))).length).toBe(256);
		await driver.createTopic('s', 't');
		const after = await record();
		expect(after[0]).not.toBe(before[0]);
		expect(after[1]).toBeGreaterThan(before[1]);
	});

	it('refuse unknown options with 4041 and bad values with 4042', async () => {
		const option = (key: string, kind: number, value: Buffer): Buffer =>
			Buffer.concat([
				build.u8(2),
				build.u32(key.length),
				Buffer.from(key),
				build.u8(kind),
				build.u32(value.length),
				value,
			]);
		const create = (name: string, options: Buffer): Promise<Buffer> =>
			driver.write(132, Buffer.concat([build.named('s'), build.u32(1), build.name(name), options]));
		expect(status(await create('u', option('colour', 2, Buffer.from('red'))))).toBe(4041);
		expect(status(await create('u', option('message_expiry', 2, Buffer.from('soon'))))).toBe(4042);
		expect(status(await create('u', option('segment_size', 12, build.u64(5n))))).toBe(4042);
		expect(result(await create('u', option('message_expiry', 2, Buffer.from('7 days'))))).toBe(0);
		expect(server.log.findTopic('s', 'u')?.messageExpiry).toBe(604_800_000_000n);
		expect(result(await create('u', Buffer.alloc(0)))).toBe(2013);
	});

	it('gain and lose partitions', async () => {
		const change = (operation: number, count: number): Promise<Buffer> =>
			driver.write(operation, Buffer.concat([build.named('s'), build.named('t'), build.u32(count)]));
		const added = await change(136, 2);
		expect([added[208], result(added)]).toEqual([65, 0]);
		expect(status(await driver.send('s', 't', 3, 'x'))).toBe(0);
		expect(result(await change(137, 1))).toBe(0);
		expect((await driver.poll('s', 't', { partitionId: 3 })).status).toBe(3007);
		await change(136, 1);
		expect((await driver.poll('s', 't', { partitionId: 3 })).count).toBe(0);
		expect(result(await change(137, 999))).toBe(2019);
	});

	it('purged begin at offset 0 again and keep their id', async () => {
		await driver.send('s', 't', 0, 'a', 'b');
		const id = server.log.findTopic('s', 't')!.id;
		await driver.write(135, Buffer.concat([build.named('s'), build.named('t')]));
		expect((await driver.poll('s', 't')).current).toBe(0n);
		expect(server.log.findTopic('s', 't')!.id).toBe(id);
		await driver.send('s', 't', 0, 'c');
		expect(offsets(await driver.poll('s', 't'))).toEqual([0n]);
	});
});
