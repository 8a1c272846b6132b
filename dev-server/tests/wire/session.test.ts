import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openTcp, openWebSocket, type RawClient } from './client.js';
import { Driver, eviction, result, status } from './driver.js';
import * as build from './requests.js';

let server: DevServer;
let client: RawClient;

async function start(options: Parameters<typeof startServer>[0] = {}): Promise<void> {
	server = await startServer({ ws: '127.0.0.1:0', tcp: '127.0.0.1:0', plane: false, ...options });
	client = await openWebSocket(server.addresses.ws!);
}

afterEach(() => server.close());

describe('login', () => {
	it('takes a user given on the command line and no other', async () => {
		await start({ users: [{ name: 'ada', password: 'lovelace' }] });
		expect(eviction(await client.call(build.login('iggy', 'iggy')))).toBe(9);
		expect(eviction(await client.call(build.login('ada', 'wrong')))).toBe(9);
		expect(eviction(await client.call(build.login('ada', 'lovelace')))).toBeUndefined();
	});

	it('takes a configured token and a created one, and refuses others', async () => {
		await start({ tokens: ['fixed-token'] });
		expect(eviction(await client.call(build.tokenLogin('nope-nope')))).toBe(10);
		expect(eviction(await client.call(build.tokenLogin('fixed-token')))).toBeUndefined();
		const driver = new Driver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, 2));
		await driver.login();
		const made = await driver.write(146, Buffer.concat([build.name('ci'), build.u64(0n)]));
		expect(result(made)).toBe(0);
		const token = made.subarray(261, 261 + made[260]!).toString();
		expect(token).toHaveLength(68);
		const other = await openTcp(server.addresses.tcp!);
		expect(eviction(await other.call(build.tokenLogin(token)))).toBeUndefined();
		expect(result(await driver.write(147, build.name('ci')))).toBe(0);
		const late = await openTcp(server.addresses.tcp!);
		expect(eviction(await late.call(build.tokenLogin(token)))).toBe(10);
	});

	it('shows a created token once: the repeated request says that it exists', async () => {
		await start();
		const driver = new Driver(client);
		await driver.login();
		const frame = driver.frame(146, 0, Buffer.concat([build.name('ci'), build.u64(0n)]));
		expect(result(await client.call(frame))).toBe(0);
		expect(result(await client.call(frame))).toBe(51);
	});

	it('checks the version before the body and the body before the credentials', async () => {
		await start();
		const versionOnly = build.frame(1, 0, build.u32(12290), { request: 0n, session: 0n });
		const refused = await client.call(versionOnly);
		expect(eviction(refused)).toBe(14);
		expect([refused.readUInt32LE(144), refused.readUInt32LE(148)]).toEqual([11264, 11264]);
		const malformed = build.frame(1, 0, build.u32(11264), { request: 0n, session: 0n });
		expect(eviction(await client.call(malformed))).toBe(15);
		expect(eviction(await client.call(build.login('iggy', 'wrong', { version: 12290 })))).toBe(14);
		expect(
			eviction(await client.call(build.login('iggy', 'iggy', { version: 11264 + 999 }))),
		).toBeUndefined();
	});

	it('is required for reads, writes and managed commands, not for ping', async () => {
		await start();
		const numbers = { request: 1n, session: 0n };
		expect(status(await client.call(build.frame(2, 1, Buffer.alloc(0), numbers)))).toBe(0);
		expect(status(await client.call(build.frame(2, 201, Buffer.alloc(0), numbers)))).toBe(40);
		expect(status(await client.call(build.frame(2, 1_000_000, Buffer.alloc(0), numbers)))).toBe(40);
		const write = build.frame(128, 0, build.name('x'), { request: 1n, session: 1n });
		expect(eviction(await client.call(write))).toBe(1);
	});

	it('with the same client id elsewhere takes the session over', async () => {
		await start();
		const first = new Driver(client);
		await first.login();
		const frame = first.frame(128, 0, build.name('once'));
		const original = await client.call(frame);
		const second = await openWebSocket(server.addresses.ws!);
		await second.call(build.login());
		expect(status(await first.read(201))).toBe(40);
		expect((await second.call(frame)).equals(original)).toBe(true);
		client.close();
		await client.closed;
		expect(
			status(await second.call(build.frame(2, 201, Buffer.alloc(0), { request: 9n, session: 1n }))),
		).toBe(0);
	});

	it('of another user with a client id in use is refused', async () => {
		await start({
			users: [
				{ name: 'ada', password: 'lovelace' },
				{ name: 'bob', password: 'builder' },
			],
		});
		await client.call(build.login('ada', 'lovelace'));
		const second = await openWebSocket(server.addresses.ws!);
		expect(eviction(await second.call(build.login('bob', 'builder')))).toBe(12);
	});
});

describe('repeats', () => {
	let driver: Driver;
	beforeEach(async () => {
		await start();
		driver = new Driver(client);
		await driver.login();
	});

	it('of a metadata write get the original reply, byte for byte', async () => {
		const frame = driver.frame(128, 0, build.name('s'));
		const original = await client.call(frame);
		expect((await client.call(frame)).equals(original)).toBe(true);
		expect(server.log.catalog.streams.size).toBe(1);
	});

	it('of a metadata write that is no longer kept, and skipped numbers, get 59', async () => {
		const first = driver.frame(128, 0, build.name('s0'));
		await client.call(first);
		driver.request += 5n;
		const skipped = build.frame(128, 0, build.name('late'), { request: 3n, session: driver.session });
		for (let index = 1; index <= 5; index++) await driver.write(128, build.name(`s${index}`));
		expect(result(await client.call(first))).toBe(59);
		expect(result(await client.call(skipped))).toBe(59);
		expect(server.log.catalog.streamByName('late')).toBeUndefined();
	});

	it('of a send append once and get an empty body', async () => {
		await driver.createTopic('s', 't');
		const message = { payload: Buffer.from('x') };
		const frame = driver.frame(160, 0, build.sendBody('s', 't', 0, [message]));
		expect((await client.call(frame)).length).toBe(256 + 24);
		const repeat = await client.call(frame);
		expect([repeat.length, status(repeat)]).toEqual([256, 0]);
		expect(server.log.end('s', 't', 0)).toBe(1n);
	});

	it('of a refused send are new sends', async () => {
		await driver.createTopic('s', 't');
		await server.faults.apply({ kind: 'status', command: 101, status: 58, times: 2 });
		const frame = driver.frame(160, 0, build.sendBody('s', 't', 0, [{ payload: Buffer.from('x') }]));
		expect(status(await client.call(frame))).toBe(58);
		expect(status(await client.call(frame))).toBe(58);
		expect((await client.call(frame)).length).toBe(256 + 24);
		expect(server.log.end('s', 't', 0)).toBe(1n);
	});

	it('of a read under one number are all served', async () => {
		const frame = build.frame(2, 201, Buffer.alloc(0), { request: 1n, session: driver.session });
		for (let index = 0; index < 3; index++) expect(status(await client.call(frame))).toBe(0);
	});

	it('a checksum that does not fit the body is refused with 4', async () => {
		const numbers = { request: 1n, session: driver.session };
		const body = build.name('s');
		const wrong = build.frame(128, 0, body, { ...numbers, checksum: 7n });
		expect(status(await client.call(wrong))).toBe(4);
		const right = build.frame(128, 0, body, { ...numbers, checksum: build.checksumOf(body) });
		expect(result(await client.call(right))).toBe(0);
	});
});

describe('pipelined requests', () => {
	it('are answered in order, one frame each', async () => {
		await start();
		const driver = new Driver(client);
		await driver.login();
		await driver.createTopic('s', 't');
		const first = driver.request + 1n;
		for (let index = 0; index < 500; index++) {
			const message = { payload: Buffer.from(`${index}`) };
			client.send(
				index % 2 === 0
					? driver.frame(160, 0, build.sendBody('s', 't', 0, [message]))
					: driver.frame(2, 100, build.pollBody('s', 't', { value: BigInt(index >> 1), count: 1 })),
			);
		}
		for (let index = 0; index < 500; index++) {
			const reply = await client.next();
			expect(reply?.readBigUInt64LE(200)).toBe(first + BigInt(index));
			if (index % 2 === 1) expect(build.readPoll(reply!).messages[0]?.payload).toBe(`${index - 1}`);
		}
	});
});

describe('rule violations', () => {
	const cases: [string, (session: bigint) => Buffer][] = [
		['an unknown operation', (session) => build.frame(99, 0, Buffer.alloc(0), { request: 1n, session })],
		['a write numbered 0', (session) => build.frame(128, 0, build.name('s'), { request: 0n, session })],
		[
			'a client of 0',
			(session) => build.frame(2, 201, Buffer.alloc(0), { request: 1n, session, client: Buffer.alloc(16) }),
		],
	];
	it.each(cases)('%s gets status 3, or silence under --strict', async (_, make) => {
		await start();
		const driver = new Driver(client);
		await driver.login();
		expect(status(await client.call(make(driver.session)))).toBe(3);
		await server.close();
		await start({ strict: true });
		const strict = new Driver(client);
		await strict.login();
		client.send(make(strict.session));
		expect(await client.next(150)).toBeUndefined();
		expect(status(await strict.read(201))).toBe(0);
	});

	it('codes that are not served get 3, codes of writes sent as reads 5', async () => {
		await start();
		const driver = new Driver(client);
		await driver.login();
		expect(status(await driver.read(9_999))).toBe(3);
		expect(status(await driver.read(0))).toBe(3);
		expect(status(await driver.read(1_000_000))).toBe(3);
		expect(status(await driver.read(302))).toBe(5);
		expect(status(await driver.read(101))).toBe(5);
	});
});

describe('consumer groups', () => {
	const where = Buffer.concat([build.named('s'), build.named('t')]);
	const g = Buffer.concat([where, build.named('g')]);
	const assigned = (reply: Buffer): number[] =>
		Array.from({ length: reply.readUInt32LE(264) }, (_, index) => reply.readUInt32LE(268 + 4 * index));

	it('deal partitions out and take them back when a connection ends', async () => {
		await start();
		const one = new Driver(client);
		const two = new Driver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, 2));
		await one.login();
		await two.login();
		await one.createTopic('s', 't', 3);
		await one.write(139, Buffer.concat([where, build.name('g')]));
		expect((await one.read(606, g)).length).toBe(256);
		await one.write(148, g);
		expect(assigned(await one.read(606, g))).toEqual([0, 1, 2]);
		await two.write(148, g);
		expect(assigned(await one.read(606, g))).toEqual([0, 2]);
		expect(assigned(await two.read(606, g))).toEqual([1]);
		const stale = await one.poll('s', 't', { consumer: build.group('g'), partitionId: 1, kind: 5 });
		expect([stale.partitionId, stale.count]).toEqual([0xffffffff, 0]);
		two.client.close();
		await expect.poll(async () => assigned(await one.read(606, g))).toEqual([0, 1, 2]);
	});

	it('evict a member that falls silent, and only a member', async () => {
		await start({ heartbeatMs: 60 });
		const one = new Driver(client);
		const idle = new Driver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, 2));
		await one.login();
		await idle.login();
		await one.createTopic('s', 't');
		await one.write(139, Buffer.concat([where, build.name('g')]));
		await one.write(148, g);
		expect(eviction((await client.next(1000))!)).toBe(13);
		expect(status(await one.read(201))).toBe(40);
		expect(status(await idle.read(201))).toBe(0);
	});
});
