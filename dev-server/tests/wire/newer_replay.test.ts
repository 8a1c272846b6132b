import { afterEach, describe, expect, it, vi } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openWebSocket, type RawClient } from './client.js';
import { eviction, result, status } from './driver.js';
import * as build from './requests.js';
import { bytes, session, vector } from './vectors.js';

let server: DevServer;
afterEach(() => server.close());

/** Draws numbers of the commit counter, so that the server's are those of the vectors. */
function advance(to: bigint): void {
	while (server.log.commit < to) server.log.nextCommit();
}

/** What belongs to one run or one server: the cluster, times, the derived options of a topic. */
const OWN: Record<string, [number, number][]> = {
	p12_example_01_login: [],
	p12_example_02_create_stream: [
		[192, 200],
		[264, 272],
	],
	p12_example_03_create_topic: [[192, 200]],
	p12_example_04_route: [],
	// The vector counts the commits of the partition, this server all of them.
	p12_example_05_send: [[176, 200]],
	p12_example_06_poll: [
		[184, 192],
		[312, 320],
		// Checksum over the append time.
		[336, 344],
	],
};

describe('the worked example', () => {
	it('is answered byte for byte, apart from times and what names the server', async () => {
		server = await startServer({ ws: '127.0.0.1:0', dialect: 'v12', plane: false });
		const client = await openWebSocket(server.addresses.ws!);
		advance(41n);
		const names = session('p12_example_');
		expect(names).toEqual(Object.keys(OWN));
		for (const name of names) {
			const reply = await client.call(bytes(`${name}_request`));
			const expected = bytes(`${name}_reply`);
			for (const frame of [reply, expected]) {
				frame.fill(0, 32, 48);
				for (const [from, to] of OWN[name]!) frame.fill(0, from, to);
			}
			if (name === 'p12_example_01_login') {
				expect(head(reply), name).toBe(head(expected));
				expect(reply.subarray(256, 276).equals(expected.subarray(256, 276)), name).toBe(true);
			} else if (name === 'p12_example_03_create_topic') {
				expect(head(reply), name).toBe(head(expected));
				expectTopic(reply.subarray(260), expected.subarray(260));
			} else expect(reply.toString('hex'), name).toBe(expected.toString('hex'));
		}
	});
});

/** The header without its size. */
function head(frame: Buffer): string {
	return Buffer.concat([frame.subarray(0, 48), frame.subarray(52, 256)]).toString('hex');
}

/** A topic record with one partition: equal apart from times, segments and derived options. */
function expectTopic(got: Buffer, expected: Buffer): void {
	const parts = (body: Buffer) => {
		const explicit = 32 + 1 + body[32]!;
		const derived = explicit + 4 + body.readUInt32LE(explicit);
		const partition = body.subarray(derived + 4 + body.readUInt32LE(derived));
		return {
			topic: Buffer.concat([body.subarray(0, 4), body.subarray(12, derived)]).toString('hex'),
			id: partition.readUInt32LE(0),
			counts: partition.subarray(16, 64).toString('hex'),
			members: partition.subarray(64, 66).toString('hex'),
			length: partition.length,
		};
	};
	const ours = parts(got);
	const theirs = parts(expected);
	// The vector lists no node in either list; this server is in both.
	expect(ours).toEqual({ ...theirs, members: '0100', length: 68 });
}

/** The vectors' stream 1 is `orders`, its topic 1 `events`; session 42, incarnation 31. */
async function world(): Promise<RawClient> {
	server = await startServer({
		ws: '127.0.0.1:0',
		dialect: 'v12',
		plane: false,
		tokens: ['0123456789abcdef0123456789abcdef'],
	});
	const { log } = server;
	await log.ensureStream('zero');
	await log.ensureTopic('orders', 'zero', 1);
	advance(31n);
	const orders = log.catalog.stream(1)!;
	log.createTopic(orders, { name: 'events', partitions: 3 });
	expect(log.findTopic('orders', 'events')!.partitions[0]!.incarnation).toBe(31n);
	log.createTopic(orders, { name: 'two', partitions: 1 });
	await log.append(
		'orders',
		'events',
		0,
		Array.from({ length: 14 }, () => ({ payload: Buffer.from('x') })),
	);
	advance(41n);
	const client = await openWebSocket(server.addresses.ws!);
	await client.call(bytes('p12_login_password_request'));
	advance(77n);
	return client;
}

/** Vector by vector: what it must be answered with here. */
const ANSWERS: Record<string, (reply: Buffer) => void> = {
	create_partitions: (reply) => expect([result(reply), reply[208]]).toEqual([0, 65]),
	create_pat: (reply) => expect([result(reply), reply[260]]).toEqual([0, 68]),
	create_stream_name255: succeeds,
	create_stream: (reply) => expect([result(reply), reply[220]]).toEqual([1012, 1]),
	create_topic_options: succeeds,
	// One node keeps one copy.
	create_topic_replication: (reply) => expect([status(reply), reply[208]]).toEqual([4042, 132]),
	create_topic: (reply) => expect([result(reply), reply[208]]).toEqual([2013, 64]),
	delete_offset: (reply) => expect(status(reply)).toBe(3021),
	delete_stream: succeeds,
	delete_topic: succeeds,
	fetch(reply) {
		expect(status(reply)).toBe(0);
		expect(reply.readUInt32LE(256)).toBe(2);
		expect([reply.readUInt32LE(260 + 4), reply.readUInt32LE(260 + 16)]).toEqual([0, 2]);
		expect(reply.readBigUInt64LE(260 + 44)).toBe(14n);
		// The second partition has another incarnation in the vector.
		expect(reply.readUInt32LE(316 + 4)).toBe(87);
	},
	get_clients: answers(1),
	get_cluster_metadata: (reply) => expect(reply[256 + 4 + 11 + 4]).toBe(0),
	get_me: answers(1),
	get_offset: (reply) => expect([status(reply), reply.length]).toEqual([0, 256]),
	get_stats: answers(100),
	get_stream_name255: (reply) => expect([status(reply), reply.length]).toEqual([0, 256]),
	get_stream_numeric: answers(60),
	get_stream_string: answers(60),
	get_streams: answers(60),
	get_topic: answers(60),
	get_topics: (reply) => expect(reply.readUInt32LE(256)).toBe(3),
	login_password_context: (reply) => expect(eviction(reply)).toBeUndefined(),
	login_password: (reply) => expect(reply.readBigUInt64LE(264)).toBe(42n),
	login_pat: (reply) => expect(eviction(reply)).toBeUndefined(),
	logout: (reply) => expect([status(reply), reply.length, reply[208]]).toEqual([0, 256, 3]),
	managed_hello: (reply) => expect(status(reply)).toBe(3),
	partition_route(reply) {
		expect(reply.length).toBe(281);
		expect([reply.readBigUInt64LE(256), reply.readBigUInt64LE(264)]).toEqual([31n, 31n]);
		expect([reply.readUInt32LE(276), reply[280]]).toEqual([3, 0]);
	},
	ping_bound: (reply) => expect([status(reply), reply.length]).toEqual([0, 256]),
	ping_unauthenticated: (reply) => expect([status(reply), reply.length]).toEqual([0, 256]),
	poll_deferred: polls(2),
	poll_first: polls(1),
	poll_group: (reply) => expect(status(reply)).toBe(5003),
	poll_last: polls(5),
	poll_long_names: (reply) => expect(status(reply)).toBe(1009),
	poll_next_autocommit: polls(14),
	poll_offset: polls(10),
	poll_timestamp: polls(0),
	poll_without_context: (reply) => expect(status(reply)).toBe(87),
	send_all_header_kinds: sends,
	send_balanced: sends,
	send_idempotent: sends,
	send_key: sends,
	send_one: sends,
	send_two: sends,
	store_offset(reply) {
		expect([result(reply), reply[220], reply[208]]).toEqual([0, 1, 161]);
		expect(reply.readBigUInt64LE(224)).toBe(31n);
	},
	bind_session(reply) {
		expect(status(reply)).toBe(0);
		expect([reply.readBigUInt64LE(260), reply.readUInt32LE(268)]).toEqual([42n, 12290]);
	},
};

function succeeds(reply: Buffer): void {
	expect([result(reply), reply[220]]).toEqual([0, 1]);
}

function answers(least: number): (reply: Buffer) => void {
	return (reply) => {
		expect(status(reply)).toBe(0);
		expect(reply.length - 256).toBeGreaterThanOrEqual(least);
	};
}

function polls(count: number): (reply: Buffer) => void {
	return (reply) => {
		const polled = build.readPoll(reply, 40);
		expect([polled.status, polled.messages.length]).toEqual([0, count]);
		expect(reply.readBigUInt64LE(224)).toBe(31n);
	};
}

function sends(reply: Buffer): void {
	expect([status(reply), reply[220], reply.readUInt32LE(256), reply.length]).toEqual([0, 1, 1, 280]);
	expect([reply.readUInt32LE(260), reply.readUInt32LE(264)]).toEqual([1, 1]);
}

describe('the request vectors of 0.12.2', () => {
	const names = session('p12_')
		.filter((name) => !name.startsWith('p12_example_') && name !== 'p12_cancel_deferred')
		.map((name) => name.slice('p12_'.length));

	it('are all expected here', () => {
		expect(Object.keys(ANSWERS).sort()).toEqual([...names].sort());
	});

	it.each(names)('%s is answered as it must be', async (name) => {
		const client = await world();
		const frame = bytes(`p12_${name}_request`);
		const reply = await client.call(frame);
		expect(reply.subarray(128, 144).equals(frame.subarray(144, 160))).toBe(true);
		expect(reply.readBigUInt64LE(200)).toBe(frame.readBigUInt64LE(168));
		ANSWERS[name]!(reply);
	});

	it('a cancelled poll is answered once', async () => {
		const client = await world();
		const waiting = bytes('p12_poll_deferred_request');
		// It waits for what comes after the last record.
		const strategy = waiting.indexOf(Buffer.from('events')) + 6 + 5;
		waiting.writeBigUInt64LE(14n, strategy + 1);
		client.send(waiting);
		expect(await client.next(50)).toBeUndefined();
		client.send(bytes('p12_cancel_deferred_request'));
		const reply = (await client.next())!;
		polls(0)(reply);
		expect(reply.readBigUInt64LE(200)).toBe(23n);
		expect(await client.next(50)).toBeUndefined();
	});

	it('a bound connection goes on with the session', async () => {
		const client = await world();
		client.close();
		const other = await openWebSocket(server.addresses.ws!);
		expect(status(await other.call(bytes('p12_get_me_request')))).toBe(40);
		ANSWERS['bind_session']!(await other.call(bytes('p12_bind_session_request')));
		expect(status(await other.call(bytes('p12_get_me_request')))).toBe(0);
	});

	it.each([
		['p12_invalid_batch_checksum', 4039],
		['p12_invalid_message_checksum', 4027],
		['p12_invalid_batch_reserved', 3],
		['p12_invalid_batch_truncated', 3],
	])('%s is refused with status %i and appends nothing', async (name, expected) => {
		const client = await world();
		const batch = Buffer.from(vector(name).hex, 'hex');
		const count = batch.readUInt32LE(48);
		const metadata = Buffer.concat([
			build.named('orders'),
			build.named('events'),
			build.u8(2),
			build.u8(4),
			build.u32(0),
			build.u32(count),
		]);
		const body = Buffer.concat([build.u32(metadata.length), metadata, batch]);
		const frame = build.frame(160, 0, body, {
			request: 5n,
			session: 42n,
			incarnation: 31n,
			client: bytes('p12_send_one_request').subarray(128, 144),
		});
		expect(status(await client.call(frame))).toBe(expected);
		expect(server.log.end('orders', 'events', 0)).toBe(14n);
	});

	it('with bytes changed are answered or left alone, and never break the server', async () => {
		const errors = vi.spyOn(console, 'error').mockImplementation(() => {});
		const client = await world();
		let seed = 1;
		const random = (below: number): number => {
			seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
			return Math.floor((seed / 2 ** 32) * below);
		};
		let answered = 0;
		for (const name of names) {
			// A new session would leave the others' frames without one.
			if (name.startsWith('login') || name === 'logout') continue;
			for (let round = 0; round < 40; round++) {
				const frame = Buffer.from(bytes(`p12_${name}_request`));
				for (let changes = 1 + random(3); changes > 0; changes--) {
					// Of the header only what stands behind the session.
					const at =
						frame.length > 256 && random(4) > 0 ? 256 + random(frame.length - 256) : 196 + random(28);
					frame[at] = random(256);
				}
				frame.writeBigUInt64LE(BigInt(1000 + answered), 168);
				client.send(frame);
				const probe = bytes('p12_ping_bound_request');
				probe.writeBigUInt64LE(999_999n, 168);
				client.send(probe);
				for (;;) {
					const reply = (await client.next())!;
					if (reply.readBigUInt64LE(200) === 999_999n) break;
					answered++;
				}
			}
		}
		expect(answered).toBeGreaterThan(1000);
		expect(errors.mock.calls).toEqual([]);
		errors.mockRestore();
	}, 60_000);
});
