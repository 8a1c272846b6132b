import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openWebSocket } from './client.js';
import { Driver, eviction, result, status } from './driver.js';
import { context, NewerDriver } from './newer_driver.js';
import * as build from './requests.js';

let server: DevServer;

async function start(options: Parameters<typeof startServer>[0] = {}): Promise<void> {
	server = await startServer({ ws: '127.0.0.1:0', plane: false, dialect: 'v12', ...options });
}

async function connect(id = build.CLIENT, secret = build.SECRET): Promise<NewerDriver> {
	const driver = new NewerDriver(await openWebSocket(server.addresses.ws!), id, secret);
	await driver.login();
	return driver;
}

afterEach(() => server.close());

describe('the login decides', () => {
	it('between both protocols on one listener, and on one connection', async () => {
		await start({ dialect: 'auto' });
		const older = new Driver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, 9));
		const reply = await older.login();
		expect(reply.readUInt32LE(256 + 4 + 12)).toBe(11264);
		const newer = new NewerDriver(older.client);
		const second = await newer.login();
		expect(second.readUInt32LE(256 + 4 + 12)).toBe(12290);
		expect(newer.session).not.toBe(older.session);
		// The older session ended with the change.
		expect(status(await newer.read(105, Buffer.alloc(0)))).toBe(3);
		const wrong = await newer.client.call(build.login('iggy', 'iggy', { version: 10 << 10 }));
		expect(eviction(wrong)).toBe(14);
	});

	it.each([
		['s11', 12290, 11264],
		['v12', 11264, 12290],
		['v12', 12291, 12290],
		['auto', 13 << 10, 11264],
	] as const)('%s refuses version %i and names its window', async (dialect, version, window) => {
		await start({ dialect });
		const client = await openWebSocket(server.addresses.ws!);
		const refused = await client.call(build.login('iggy', 'iggy', { version }));
		expect(eviction(refused)).toBe(14);
		expect([refused.readUInt32LE(144), refused.readUInt32LE(148)]).toEqual([window, window]);
		const login = dialect === 'v12' ? build.newerLogin(build.CLIENT) : build.login();
		expect(eviction(await client.call(login))).toBeUndefined();
	});

	it('a login without a secret or without an identifier is refused', async () => {
		await start();
		const client = await openWebSocket(server.addresses.ws!);
		expect(eviction(await client.call(build.newerLogin(build.CLIENT, Buffer.alloc(7))))).toBe(15);
		const unnamed = build.newerLogin(build.CLIENT);
		unnamed.fill(0, 144, 160);
		expect(status(await client.call(unnamed))).toBe(4);
	});
});

describe('a session', () => {
	it('is bound again after its connection was lost, and answers the unresolved write as it did before', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const route = await driver.route('s', 't');
		const frame = driver.sendFrame('s', 't', route, 'one');
		const original = await driver.client.call(frame);
		const create = driver.frame(128, 0, build.name('again'));
		const created = await driver.client.call(create);
		driver.client.close();
		driver.client = await openWebSocket(server.addresses.ws!);
		const bound = await driver.bind();
		expect([status(bound), bound[208], bound.length]).toEqual([0, 2, 256 + 17 + bound[272]!]);
		expect(bound.readBigUInt64LE(256 + 4)).toBe(driver.session);
		expect((await driver.client.call(frame)).equals(original)).toBe(true);
		expect((await driver.client.call(create)).equals(created)).toBe(true);
		expect(server.log.end('s', 't', 0)).toBe(1n);
		expect(server.log.catalog.streams.size).toBe(2);
	});

	it('is found by its client id and secret when the login reply was lost', async () => {
		await start();
		const driver = await connect();
		driver.client.close();
		driver.client = await openWebSocket(server.addresses.ws!);
		const bound = await driver.bind(0n);
		expect(bound.readBigUInt64LE(256 + 4)).toBe(driver.session);
	});

	it.each([
		['a wrong secret', (d: NewerDriver) => d.bind(d.session, Buffer.alloc(32, 1)), 40],
		['another session number', (d: NewerDriver) => d.bind(d.session + 1n), 40],
		[
			'a watermark that this server has not reached',
			(d: NewerDriver) => d.bind(d.session, d.secret, 1n << 60n),
			58,
		],
	])('is not bound by %s', async (_, bind, expected) => {
		await start();
		const driver = await connect();
		driver.client.close();
		driver.client = await openWebSocket(server.addresses.ws!);
		expect(status(await bind(driver))).toBe(expected);
		expect(status(await driver.read(20))).toBe(40);
		// The session is still there for its owner.
		expect(status(await driver.bind())).toBe(0);
		expect(status(await driver.read(20))).toBe(0);
	});

	it('moves with a bind: the old connection is no longer logged in', async () => {
		await start();
		const driver = await connect();
		const old = driver.client;
		driver.client = await openWebSocket(server.addresses.ws!);
		expect(status(await driver.bind())).toBe(0);
		expect(status(await old.call(driver.frame(2, 20, Buffer.alloc(0))))).toBe(40);
		expect(eviction(await old.call(driver.frame(128, 0, build.name('x'))))).toBe(1);
		old.close();
		await new Promise((done) => setTimeout(done, 20));
		expect(status(await driver.read(20))).toBe(0);
	});

	it('ends at logout, and retires some time after its connection', async () => {
		await start({ sessionMs: 50 });
		const driver = await connect();
		expect(status(await driver.write(3, Buffer.alloc(0)))).toBe(0);
		expect(status(await driver.bind())).toBe(40);
		await driver.login();
		driver.client.close();
		await new Promise((done) => setTimeout(done, 150));
		driver.client = await openWebSocket(server.addresses.ws!);
		expect(status(await driver.bind())).toBe(40);
	});

	it('is outdated by a login of its client id with another secret', async () => {
		await start();
		const driver = await connect();
		const other = await connect(build.CLIENT, Buffer.alloc(32, 3));
		expect(other.session).not.toBe(driver.session);
		expect(eviction(await driver.write(128, build.name('x')))).toBe(7);
		expect(result(await other.write(128, build.name('x')))).toBe(0);
	});

	it('must be named exactly by a write', async () => {
		await start();
		for (let n = 0; n < 3; n++) server.log.nextCommit();
		const driver = await connect();
		expect(status(await driver.write(128, build.name('x'), { session: driver.session + 1n }))).toBe(3);
		expect(eviction(await driver.write(128, build.name('x'), { session: driver.session - 1n }))).toBe(7);
		expect(status(await driver.read(20))).toBe(40);
		expect(status(await driver.bind())).toBe(0);
		expect(result(await driver.write(128, build.name('x')))).toBe(0);
	});
});

describe('a reply', () => {
	it('proves a commit with the marker, and only then', async () => {
		await start();
		const driver = await connect();
		const created = await driver.write(128, build.name('s'));
		expect([created[220], created.readBigUInt64LE(176) > 0n]).toEqual([1, true]);
		expect(created.readBigUInt64LE(176)).toBe(created.readBigUInt64LE(184));
		expect(created.subarray(160, 176).equals(driver.id)).toBe(true);
		const again = await driver.write(128, build.name('s'));
		expect([again[220], result(again)]).toEqual([1, 1012]);
		expect((await driver.read(20))[220]).toBe(0);
		const low = await driver.write(128, build.name('z'), { request: 0n });
		expect([low[220], status(low)]).toEqual([0, 3]);
		for (let n = 0; n < 6; n++) await driver.write(128, build.name(`more-${n}`));
		const late = await driver.write(128, build.name('late'), { request: 1n });
		expect([late[220], result(late)]).toEqual([0, 59]);
	});

	it('of a partition write carries the client id and the incarnation', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const route = await driver.route('s', 't');
		const sent = await driver.send('s', 't', route, 'one');
		expect(sent[220]).toBe(1);
		expect(sent.readBigUInt64LE(224)).toBe(route.incarnation);
		expect(sent.subarray(160, 176).equals(driver.id)).toBe(true);
	});
});

describe('a partition call', () => {
	it.each([
		['without an incarnation', { incarnation: 0n }, 87],
		['with a later one', { incarnation: 1n << 40n }, 87],
		['with an owner', { owner: 5n }, 5009],
		['ahead of this server', { minimumOp: 1n << 60n }, 58],
	])('%s is refused', async (_, numbers, expected) => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const good = context(await driver.route('s', 't'));
		const given = { ...good, ...numbers };
		const offsets = [build.consumer('c'), build.named('s'), build.named('t'), build.partition(0)];
		const body = build.sendBody('s', 't', 0, [{ payload: Buffer.from('x') }]);
		expect(status(await driver.write(160, body, given))).toBe(expected);
		expect(status(await driver.read(100, build.pollBody('s', 't'), given))).toBe(expected);
		expect(status(await driver.read(120, Buffer.concat(offsets), given))).toBe(expected);
		const store = Buffer.concat([...offsets, build.u64(0n), build.u8(1)]);
		expect(status(await driver.write(161, store, given))).toBe(expected);
		expect(server.log.end('s', 't', 0)).toBe(0n);
		expect(status(await driver.write(160, body, good))).toBe(0);
	});

	it('made for a purged or recreated partition is refused, and works with the new route', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const first = await driver.route('s', 't');
		await driver.send('s', 't', first, 'one');
		for (const kind of ['recreate_topic', 'purge_topic', 'recreate_topic']) {
			const before = await driver.route('s', 't');
			await server.faults.apply({ kind, stream: 's', topic: 't' });
			expect(status(await driver.send('s', 't', before, 'lost'))).toBe(87);
			const route = await driver.route('s', 't');
			expect(route.incarnation).toBeGreaterThan(before.incarnation);
			expect(status(await driver.send('s', 't', route, 'kept'))).toBe(0);
		}
	});

	it('of a missing stream, topic or partition says which', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const given = context(await driver.route('s', 't'));
		const body = (stream: string, topic: string, partition: number) =>
			build.sendBody(stream, topic, partition, [{ payload: Buffer.from('x') }]);
		expect(status(await driver.write(160, body('no', 't', 0), given))).toBe(1009);
		expect(status(await driver.write(160, body('s', 'no', 0), given))).toBe(2010);
		expect(status(await driver.write(160, body('s', 't', 9), given))).toBe(3007);
		await expect(driver.route('s', 't', 1)).rejects.toThrow('3007');
	});

	it('of an external group keeps offsets of its own', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const route = await driver.route('s', 't');
		await driver.send('s', 't', route, 'one', 'two');
		const target = [build.named('e'), build.named('s'), build.named('t'), build.partition(0)];
		const external = Buffer.concat([build.u8(3), ...target]);
		const plain = Buffer.concat([build.u8(1), ...target]);
		const store = Buffer.concat([external, build.u64(1n), build.u8(1)]);
		expect(result(await driver.write(161, store, context(route)))).toBe(0);
		expect((await driver.read(120, external, context(route))).readBigUInt64LE(256 + 12)).toBe(1n);
		expect((await driver.read(120, plain, context(route))).length).toBe(256);
	});
});

describe('a restart', () => {
	it('keeps incarnations, and sends every client to a new login', async () => {
		const dataDir = mkdtempSync(join(tmpdir(), 'tidemark-newer-'));
		await start({ dataDir });
		const driver = await connect();
		await driver.createTopic('s', 't');
		await server.faults.apply({ kind: 'purge_topic', stream: 's', topic: 't' });
		const route = await driver.route('s', 't');
		await driver.send('s', 't', route, 'one');
		await server.close();
		await start({ dataDir });
		driver.client = await openWebSocket(server.addresses.ws!);
		expect(status(await driver.bind())).toBe(40);
		await driver.login();
		expect(await driver.route('s', 't')).toEqual(route);
		expect(status(await driver.send('s', 't', route, 'two'))).toBe(0);
		expect(server.log.end('s', 't', 0)).toBe(2n);
		await server.faults.apply({ kind: 'recreate_topic', stream: 's', topic: 't' });
		expect((await driver.route('s', 't')).incarnation).toBeGreaterThan(route.incarnation);
	});
});

describe('a repeated send', () => {
	it('gives the original confirmation, another frame under its number is refused', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const route = await driver.route('s', 't');
		const frame = driver.sendFrame('s', 't', route, 'one');
		const original = await driver.client.call(frame);
		await driver.send('s', 't', route, 'two');
		expect((await driver.client.call(frame)).equals(original)).toBe(true);
		driver.request = frame.readBigUInt64LE(168) - 1n;
		expect(status(await driver.send('s', 't', route, 'other'))).toBe(3);
		expect(server.log.end('s', 't', 0)).toBe(2n);
	});

	it('that was refused is tried again', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const route = await driver.route('s', 't');
		await server.faults.apply({ kind: 'status', command: 101, status: 58 });
		const frame = driver.sendFrame('s', 't', route, 'one');
		expect(status(await driver.client.call(frame))).toBe(58);
		expect(status(await driver.client.call(frame))).toBe(0);
		expect(server.log.end('s', 't', 0)).toBe(1n);
	});

	it('of a numbered producer is recognised in another session; a gap and an old epoch are refused', async () => {
		await start();
		const driver = await connect();
		await driver.createTopic('s', 't');
		const given = context(await driver.route('s', 't'));
		const body = (sequence: number, payload: string, epoch = 1) =>
			build.producedBody('s', 't', 0, { id: 7n, epoch, sequence }, [{ payload: Buffer.from(payload) }]);
		const base = (reply: Buffer) => reply.readBigUInt64LE(256 + 16);
		expect(base(await driver.write(160, body(0, 'a'), given))).toBe(0n);
		expect(base(await driver.write(160, body(1, 'b'), given))).toBe(1n);
		const other = await connect(Buffer.alloc(16, 8), Buffer.alloc(32, 8));
		expect(base(await other.write(160, body(1, 'b'), given))).toBe(1n);
		expect(status(await other.write(160, body(1, 'different'), given))).toBe(92);
		expect(status(await other.write(160, body(5, 'gap'), given))).toBe(92);
		expect(base(await other.write(160, body(0, 'new epoch', 2), given))).toBe(2n);
		expect(status(await driver.write(160, body(2, 'old epoch'), given))).toBe(93);
		expect(server.log.end('s', 't', 0)).toBe(3n);
	});
});

describe('what is described', () => {
	it('options have a flags byte, and the catalogue of the version', async () => {
		await start();
		const driver = await connect();
		const reply = await driver.read(13, build.u8(1));
		const options = new Map<string, number>();
		let at = 260;
		for (let left = reply.readUInt32LE(256); left > 0; left--) {
			const key = reply.subarray(at + 1, at + 1 + reply[at]!).toString();
			at += 1 + reply[at]!;
			options.set(key, reply[at + 1]!);
			at += 2;
			at += 4 + reply.readUInt32LE(at);
			at += 4 + reply.readUInt32LE(at);
		}
		expect(at).toBe(reply.length);
		expect(options.get('message_expiry')).toBe(3);
		expect(options.get('durability')).toBe(0);
		expect(options.has('replication_factor') && options.has('partition_resize_policy')).toBe(true);
	});

	it.each([14, 35, 102, 103, 104, 107, 123, 124, 204, 205, 304, 305])(
		'retired %i is answered 3',
		async (code) => {
			await start();
			const driver = await connect();
			expect(status(await driver.read(code))).toBe(3);
		},
	);

	it.each([129, 131, 133, 135, 142])('retired operation %i is answered 3', async (operation) => {
		await start();
		const driver = await connect();
		expect(status(await driver.write(operation, Buffer.alloc(8)))).toBe(3);
	});

	it.each([15, 105, 106, 108, 109])('%i is unknown to the older protocol', async (code) => {
		await start({ dialect: 's11' });
		const driver = new Driver(await openWebSocket(server.addresses.ws!));
		await driver.login();
		expect(status(await driver.read(code))).toBe(3);
	});

	it('a topic with a fixed number of partitions keeps it', async () => {
		await start();
		const driver = await connect();
		const option = Buffer.concat([
			build.option('partition_resize_policy', 'fixed'),
			build.u8(2),
			build.u32(21),
			Buffer.from('compression_algorithm'),
			build.u8(9),
			build.u32(1),
			build.u8(2),
		]);
		expect(result(await driver.createTopic('s', 't', 2, option))).toBe(0);
		const where = Buffer.concat([build.named('s'), build.named('t'), build.u32(1)]);
		expect(result(await driver.write(136, where))).toBe(2023);
		expect(result(await driver.write(137, where))).toBe(2023);
		expect(server.log.findTopic('s', 't')!.compression).toBe(2);
	});

	it('the older protocol describes a topic that was made in the newer one', async () => {
		await start({ dialect: 'auto' });
		const driver = await connect();
		await driver.createTopic('s', 't', 1, build.option('partition_resize_policy', 'fixed'));
		const older = new Driver(await openWebSocket(server.addresses.ws!), Buffer.alloc(16, 9));
		await older.login();
		const reply = await older.read(300, Buffer.concat([build.named('s'), build.named('t')]));
		expect(status(reply)).toBe(0);
		expect(reply.length).toBeGreaterThan(256 + 90);
	});
});

describe('snapshot', () => {
	it('refuses the durability keys and takes enforce_fsync', async () => {
		await start({ dialect: 'snapshot' });
		const driver = new Driver(await openWebSocket(server.addresses.ws!));
		await driver.login();
		const refused = await driver.createTopic('s', 't', 1, build.option('durability', 'replicated'));
		expect(status(refused)).toBe(4041);
		const taken = await driver.createTopic('s', 't', 1, build.option('enforce_fsync', 'true'));
		expect(result(taken)).toBe(0);
		const frame = driver.frame(160, 0, build.sendBody('s', 't', 0, [{ payload: Buffer.from('x') }]));
		await driver.client.call(frame);
		await driver.client.call(frame);
		expect(server.log.end('s', 't', 0)).toBe(2n);
	});
});
