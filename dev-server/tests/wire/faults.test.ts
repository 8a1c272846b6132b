import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openTcp, openWebSocket, type RawClient } from './client.js';
import { Driver, eviction, status } from './driver.js';
import * as build from './requests.js';

let server: DevServer;
let driver: Driver;
let client: RawClient;

beforeEach(async () => {
	server = await startServer({ ws: '127.0.0.1:0', tcp: '127.0.0.1:0', http: '127.0.0.1:0', plane: false });
	client = await openWebSocket(server.addresses.ws!);
	driver = new Driver(client);
	await driver.login();
	await driver.createTopic('s', 't', 1);
});
afterEach(() => server.close());

const sendOne = (): void =>
	client.send(driver.frame(160, 0, build.sendBody('s', 't', 0, [{ payload: Buffer.from('x') }])));

describe('a drop', () => {
	it('before the command leaves nothing behind', async () => {
		await server.faults.apply({ kind: 'drop', command: 101 });
		sendOne();
		await client.closed;
		expect(server.log.end('s', 't', 0)).toBe(0n);
	});

	it('after the command leaves it applied and unanswered', async () => {
		await server.faults.apply({ kind: 'drop', command: 101, when: 'after' });
		sendOne();
		await client.closed;
		expect(await client.next(10)).toBeUndefined();
		expect(server.log.end('s', 't', 0)).toBe(1n);
	});

	it('happens as often as asked, after the requests it lets pass, and to its command only', async () => {
		await server.faults.apply({ kind: 'drop', command: 201, skip: 2 });
		for (let index = 0; index < 2; index++) expect(status(await driver.read(201))).toBe(0);
		expect(status(await driver.read(1))).toBe(0);
		client.send(driver.frame(2, 201, Buffer.alloc(0)));
		await client.closed;
		const again = new Driver(await openWebSocket(server.addresses.ws!));
		await again.login();
		expect(status(await again.read(201))).toBe(0);
	});

	it('of a login tells password from token', async () => {
		await server.faults.apply({ kind: 'drop', command: 45 });
		const other = await openTcp(server.addresses.tcp!);
		expect(
			eviction(await other.call(build.login('iggy', 'iggy', { client: Buffer.alloc(16, 3) }))),
		).toBeUndefined();
		const third = await openTcp(server.addresses.tcp!);
		third.send(build.tokenLogin('some-token'));
		await third.closed;
	});
});

it('a delayed reply comes late, and what follows waits for it', async () => {
	await server.faults.apply({ kind: 'delay', command: 1, ms: 120, times: 1 });
	const started = performance.now();
	client.send(driver.frame(2, 1, Buffer.alloc(0)));
	client.send(driver.frame(2, 201, Buffer.alloc(0)));
	const first = await client.next();
	expect(performance.now() - started).toBeGreaterThan(110);
	expect(first!.readBigUInt64LE(200)).toBe(driver.request - 1n);
	expect((await client.next())!.readBigUInt64LE(200)).toBe(driver.request);
});

it('silence answers nothing and keeps the connection', async () => {
	await server.faults.apply({ kind: 'silent', command: 201 });
	client.send(driver.frame(2, 201, Buffer.alloc(0)));
	expect(await client.next(100)).toBeUndefined();
	expect(status(await driver.read(201))).toBe(0);
});

it('a status is answered n times without executing the command', async () => {
	await server.faults.apply({ kind: 'status', command: 101, status: 57, times: 3 });
	for (let index = 0; index < 3; index++) expect(status(await driver.send('s', 't', 0, 'x'))).toBe(57);
	expect(server.log.end('s', 't', 0)).toBe(0n);
	expect(status(await driver.send('s', 't', 0, 'x'))).toBe(0);
});

it('an eviction ends the session and keeps the connection', async () => {
	await server.faults.apply({ kind: 'evict', command: 201, reason: 13 });
	expect(eviction(await driver.read(201))).toBe(13);
	expect(status(await driver.read(201))).toBe(40);
	await driver.login();
	expect(status(await driver.read(201))).toBe(0);
});

it('a cut ends every connection at once', async () => {
	const other = await openTcp(server.addresses.tcp!);
	expect(await server.faults.apply({ kind: 'cut' })).toEqual({ cut: 2 });
	await client.closed;
	await other.closed;
});

it('new connections are refused for a while', async () => {
	await server.faults.apply({ kind: 'refuse', ms: 150 });
	const early = await openTcp(server.addresses.tcp!);
	await early.closed;
	const webSocket = await openWebSocket(server.addresses.ws!).catch(() => undefined);
	await webSocket?.closed;
	await new Promise((done) => setTimeout(done, 200));
	const late = new Driver(await openTcp(server.addresses.tcp!), Buffer.alloc(16, 9));
	await late.login();
	expect(status(await late.read(201))).toBe(0);
});

it.each([undefined, 3, 300])('half a frame (%s bytes) comes and the connection ends', async (bytes) => {
	await server.faults.apply({ kind: 'half', command: 300, ...(bytes ? { bytes } : {}) });
	const tcp = await openTcp(server.addresses.tcp!);
	const over = new Driver(tcp, Buffer.alloc(16, 4));
	await over.login();
	let received = 0;
	tcp.socket.on('data', (chunk) => {
		received += chunk.length;
	});
	tcp.send(over.frame(2, 300, Buffer.concat([build.named('s'), build.named('t')])));
	await tcp.closed;
	expect(received).toBeGreaterThan(0);
	expect(await tcp.next(10)).toBeUndefined();
	await server.faults.apply({ kind: 'half', command: 201 });
	client.send(driver.frame(2, 201, Buffer.alloc(0)));
	expect((await client.closed).code).toBe(1006);
	expect(await client.next(10)).toBeUndefined();
});

it('text comes in place of a frame', async () => {
	await server.faults.apply({ kind: 'text', command: 201 });
	expect((await driver.read(201)).toString()).toBe('not a frame');
});

it('a frame comes with a size that is wrong', async () => {
	await server.faults.apply({ kind: 'missized', command: 201 });
	const reply = await driver.read(201);
	expect(reply.readUInt32LE(48)).toBe(reply.length + 1);
});

it('a topic is made again with the same settings and fewer records', async () => {
	await driver.send('s', 't', 0, 'x');
	const before = server.log.findTopic('s', 't')!;
	await server.faults.apply({ kind: 'recreate_topic', stream: 's', topic: 't', partitions: 2 });
	const after = server.log.findTopic('s', 't')!;
	expect(after.id).not.toBe(before.id);
	expect(after.createdAt).toBeGreaterThan(before.createdAt);
	expect([after.partitions.length, server.log.end('s', 't', 0)]).toEqual([2, 0n]);
});

it('partitions are added', async () => {
	await server.faults.apply({ kind: 'add_partitions', stream: 's', topic: 't', count: 3 });
	expect(status(await driver.send('s', 't', 3, 'x'))).toBe(0);
});

it('over HTTP the same faults apply, one or several', async () => {
	const reply = await fetch(`${server.addresses.http}/faults`, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify([
			{ kind: 'status', command: 201, status: 58 },
			{ kind: 'base_offset', stream: 's', topic: 't', offset: '9007199254740993' },
		]),
	});
	expect(reply.status).toBe(200);
	expect(status(await driver.read(201))).toBe(58);
	expect(server.log.end('s', 't', 0)).toBe(9007199254740993n);
});

it('cleared faults are gone', async () => {
	await server.faults.apply({ kind: 'drop' });
	await server.faults.apply({ kind: 'clear' });
	expect(status(await driver.read(201))).toBe(0);
});
