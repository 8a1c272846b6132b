import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { Laser, LaserError } from '../../js/index.js';
import {
	changed,
	type Exchange,
	eviction,
	FrameProxy,
	frame,
	type Instead,
	shortened,
} from '../support/frame-proxy.js';
import { SeededRandom } from '../support/random.js';
import { LASTING_EVICTIONS } from './support/evictions.js';
import { Follower } from './support/follower.js';
import { append, range, Seen, until } from './support/world.js';

const SEED = 7;
const POLL = 100;
const SEND = 101;
const GET_STREAM = 200;
const GET_TOPIC = 300;
const LOGIN = 1;
const SEND_OPERATION = 160;
const PASSWORD = 'correct horse';

let server: DevServer;
let proxy: FrameProxy;
let seen: Seen;
let laser: Laser;
let topic: string;
let topics = 0;

beforeAll(async () => {
	server = await startServer({ ws: '127.0.0.1:0', users: [{ name: 'ann', password: PASSWORD }] });
});
afterAll(() => server?.close());

beforeEach(async () => {
	proxy = await FrameProxy.start(server.addresses.ws!);
	seen = new Seen();
	topic = `frames-${topics++}`;
	await server.log.ensureTopic('shop', topic, 1);
	await append(server, { stream: 'shop', topic }, range(0, 10));
});
afterEach(async () => {
	await laser?.close();
	await proxy.close();
	seen.expectNone(PASSWORD, 'iggy-secret');
});

async function connect(options = {}): Promise<Laser> {
	laser = seen.listen(
		await Laser.connect(proxy.ws, {
			username: 'ann',
			password: PASSWORD,
			stream: 'shop',
			requestTimeoutMs: 1_000,
			watchdogMs: 1_500,
			publishRetryBackoffMs: 5,
			...options,
		}),
	);
	return laser;
}

/** Puts something in place of the answers to one kind of request, `times` times, after `skip` good ones. */
function replace(
	isIt: (exchange: Exchange) => boolean,
	make: (reply: Buffer, exchange: Exchange) => Instead,
	{ skip = 0, times = 1 } = {},
): void {
	let met = 0;
	proxy.tamper = (exchange) => {
		if (!isIt(exchange)) return undefined;
		met += 1;
		return met > skip && met <= skip + times ? make(exchange.reply, exchange) : undefined;
	};
}
const isCode = (code: number) => (exchange: Exchange) => exchange.operation === 2 && exchange.code === code;

interface Expected {
	kind: string;
	rule?: string;
}

/** What the connection said was wrong, in order. */
function connectionErrors(): LaserError[] {
	const errors: LaserError[] = [];
	laser.connection.addEventListener('state', (event) => {
		if (event.error !== undefined && errors.at(-1) !== event.error) errors.push(event.error);
	});
	return errors;
}

function expectOne(errors: readonly LaserError[], expected: Expected): void {
	const found = errors.find(
		(error) =>
			error.kind === expected.kind &&
			(expected.rule === undefined || (error as { rule?: string }).rule === expected.rule),
	);
	expect(
		found,
		`${JSON.stringify(expected)} among ${errors.map((one) => `${one.kind} ${(one as { rule?: string }).rule}: ${one.message}`).join('; ') || 'none'}`,
	).toBeDefined();
}

const protocol = (rule: string): Expected => ({ kind: 'protocol', rule });
const BROKEN: readonly (readonly [string, Expected, (reply: Buffer, exchange: Exchange) => Instead])[] = [
	['nothing but an empty message', protocol('truncated'), () => [Buffer.alloc(0)]],
	['half a header', protocol('truncated'), (reply) => [reply.subarray(0, 128)]],
	['a frame that lacks its last byte', protocol('frame_size'), (reply) => [reply.subarray(0, -1)]],
	['a frame with a byte too many', protocol('frame_size'), (reply) => [Buffer.concat([reply, Buffer.of(0)])]],
	['two frames in one message', protocol('frame_size'), (reply) => [Buffer.concat([reply, reply])]],
	[
		'a size of 2^32-1',
		protocol('frame_size'),
		(reply) => [changed(reply, (copy) => copy.writeUInt32LE(0xffffffff, 48))],
	],
	[
		'a frame of 64 MiB and one byte',
		protocol('frame_too_large'),
		(reply) => {
			const large = Buffer.alloc((64 << 20) + 1);
			reply.copy(large);
			large.writeUInt32LE(large.length, 48);
			return [large];
		},
	],
	...[0, 5, 6, 99, 255].map(
		(command) =>
			[
				command === 5 ? 'a request' : `command ${command}`,
				protocol('frame_command'),
				(reply: Buffer) => [
					changed(reply, (copy) => {
						copy[60] = command;
					}),
				],
			] as const,
	),
	[
		'an answer to nothing',
		protocol('unexpected_reply'),
		(reply) => [changed(reply, (copy) => copy.writeBigUInt64LE(2n ** 63n, 200))],
	],
	['a text message', protocol('text_message'), () => ['hello']],
	['an eviction with a body', protocol('frame_size'), () => [frame({ command: 13, body: Buffer.of(1) })]],
	['an eviction for no reason', protocol('unknown_variant'), () => [eviction(0)]],
];

describe('in place of a poll reply', () => {
	it.each(BROKEN)('%s: the connection says so, and the feed goes on', async (_, expected, make) => {
		await connect();
		const errors = connectionErrors();
		replace(isCode(POLL), make);
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		await append(server, { stream: 'shop', topic }, range(10, 15));
		await follower.reach(15);
		await follower.stop();
		expect(proxy.tampered).toBe(1);
		expectOne(errors, expected);
		expect(follower.rows).toEqual(range(0, 15));
		expect(follower.gaps).toEqual([]);
		expect(follower.errors).toEqual([]);
	});

	it.each([
		['another operation', 64],
		['an unknown operation', 250],
	])('%s: the reader says so, and nothing is lost', async (_, operation) => {
		await connect();
		replace(isCode(POLL), (reply) => [
			changed(reply, (copy) => {
				copy[208] = operation;
			}),
		]);
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 10));
		expectOne(follower.errors, { kind: 'protocol', rule: 'unexpected_reply' });
	});

	it('every part of it, as a frame of its own: typed errors, and nothing is lost', async () => {
		await connect();
		const random = new SeededRandom(SEED);
		let lengths: number[] = [];
		replace(isCode(POLL), (reply) => {
			lengths = range(256, reply.length);
			return [reply];
		});
		const reader = laser.topic(topic).reader();
		expect((await reader.poll()).length).toBe(10);
		const chosen = lengths.filter((length) => length < 330 || random.below(8) === 0);
		expect(chosen.length).toBeGreaterThan(80);
		for (const length of chosen) {
			replace(isCode(POLL), (reply) => [shortened(reply, length)]);
			reader.fromOffsets([0n]);
			const outcome = await reader.poll().catch((error: unknown) => seen.add(error));
			expect(outcome, `first ${length} bytes`).toBeInstanceOf(LaserError);
			expect(['codec', 'protocol', 'invalid']).toContain((outcome as LaserError).kind);
			expect([...reader.offsets.values()]).toEqual([0n]);
		}
		proxy.tamper = undefined;
		expect((await reader.poll()).map((record) => record.json<{ n: number }>().n)).toEqual(range(0, 10));
	});

	it('a record whose bytes were changed on the way: a typed error, and nothing wrong is handed over', async () => {
		await connect();
		const reader = laser.topic(topic).reader();
		for (const back of range(1, 40)) {
			replace(isCode(POLL), (reply) => [
				changed(reply, (copy) => {
					copy[copy.length - back]! ^= 0x40;
				}),
			]);
			reader.fromOffsets([0n]);
			const outcome = await reader.poll().catch((error: unknown) => seen.add(error));
			expect(outcome, `byte ${back} from the end`).toBeInstanceOf(LaserError);
			expect(['codec', 'invalid']).toContain((outcome as LaserError).kind);
		}
		proxy.tamper = undefined;
		expect((await reader.poll()).length).toBe(10);
	});

	it.each([57, 58, 90])('status %i: asked again, without a word', async (status) => {
		await connect();
		replace(isCode(POLL), (_, { request }) => [frame({ command: 8, operation: 2, request, status })], {
			times: 3,
		});
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		await follower.stop();
		expect(proxy.tampered).toBe(3);
		expect(follower.rows).toEqual(range(0, 10));
		expect(follower.errors).toEqual([]);
	});

	it('status 40: logged in again and asked again', async () => {
		await connect();
		replace(isCode(POLL), (_, { request }) => [frame({ command: 8, operation: 2, request, status: 40 })]);
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		await follower.stop();
		expect(proxy.accepted).toBe(2);
		expect(follower.rows).toEqual(range(0, 10));
		expect(follower.errors).toEqual([]);
	});

	it.each([3, 4, 41, 99_999])('status %i: the reader says which, and nothing is lost', async (status) => {
		await connect();
		replace(isCode(POLL), (_, { request }) => [frame({ command: 8, operation: 2, request, status })]);
		const follower = new Follower(laser, topic, { seen });
		await follower.reach(10);
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 10));
		expect(
			follower.errors.map((error) => [error.kind, (error as { resultCode?: number }).resultCode]),
		).toEqual([['command', status]]);
	});

	it.each([1, 7, 8, 12, 13, 14, 200])(
		'eviction %i: logged in again, and the feed goes on',
		async (reason) => {
			await connect();
			const errors = connectionErrors();
			replace(isCode(POLL), () => [eviction(reason, { min: 11264, max: 11264 })]);
			const follower = new Follower(laser, topic, { seen });
			await follower.reach(10);
			await follower.stop();
			expect(follower.rows).toEqual(range(0, 10));
			expect(errors[0]).toMatchObject({ kind: 'eviction', reason });
			expect(follower.errors).toEqual([]);
		},
	);

	it.each(LASTING_EVICTIONS)('eviction %i: no further dial (%s) until reconnect()', async (reason, state) => {
		await connect();
		replace(isCode(POLL), () => [eviction(reason)]);
		const follower = new Follower(laser, topic, { seen });
		await until(state, () => laser.connection.state === state);
		expect(laser.connection.error).toMatchObject({ kind: 'eviction', reason });
		const { accepted } = proxy;
		await new Promise((resolve) => setTimeout(resolve, 300));
		expect(proxy.accepted).toBe(accepted);
		laser.connection.reconnect();
		await follower.reach(10);
		await follower.stop();
		expect(follower.rows).toEqual(range(0, 10));
		expect(proxy.accepted).toBe(accepted + 1);
	});
});

describe('in place of other answers', () => {
	it.each(BROKEN)('to the login: %s: dialled again, connected in the end', async (_, __, make) => {
		replace((exchange) => exchange.operation === LOGIN, make);
		await connect();
		expect(proxy.tampered).toBe(1);
		expect(proxy.accepted).toBe(2);
		expect(laser.connection.state).toBe('ready');
	});

	it('every part of a login answer: dialled again, connected in the end', async () => {
		let whole = 0;
		replace(
			(exchange) => exchange.operation === LOGIN,
			(reply) => {
				whole = reply.length;
				return [reply];
			},
		);
		await connect();
		expect(whole).toBeGreaterThan(270);
		for (const length of range(256, whole)) {
			await laser.close();
			replace(
				(exchange) => exchange.operation === LOGIN,
				(reply) => [shortened(reply, length)],
			);
			await connect();
			expect(laser.connection.state).toBe('ready');
		}
	}, 60_000);

	it.each([
		// Of a stream its id and creation time are used: what is cut behind them does no harm.
		['stream', GET_STREAM, 12],
		['topic', GET_TOPIC, Number.POSITIVE_INFINITY],
	])(
		'parts of a %s record: typed errors, and nothing is lost',
		async (_, code, needed) => {
			const random = new SeededRandom(SEED);
			await connect();
			let whole = 0;
			replace(isCode(code), (reply) => {
				whole = reply.length;
				return [reply];
			});
			const first = new Follower(laser, topic, { seen });
			await first.reach(10);
			await first.stop();
			expect(whole).toBeGreaterThan(280);
			// An empty body says that there is none: the shortest part that is broken is one byte long.
			for (const length of range(257, whole).filter((at) => at < 272 || random.below(4) === 0)) {
				replace(isCode(code), (reply) => [shortened(reply, length)]);
				const follower = new Follower(laser, topic, { seen });
				await follower.reach(10);
				await follower.stop();
				expect(follower.rows).toEqual(range(0, 10));
				const isBroken = length < 256 + needed;
				expect(follower.errors.length, `first ${length} bytes`).toBe(isBroken ? 1 : 0);
				for (const { kind } of follower.errors) expect(['codec', 'protocol', 'invalid']).toContain(kind);
			}
		},
		120_000,
	);

	it('every part of a confirmation: the publish is reported as the log has it', async () => {
		await connect();
		const publish = laser.topic(topic);
		const isSend = (exchange: Exchange): boolean =>
			exchange.operation === SEND_OPERATION || (exchange.operation === 2 && exchange.code === SEND);
		let whole = 0;
		replace(isSend, (reply) => {
			whole = reply.length;
			return [reply];
		});
		await publish.publish().json({ n: 10 }).partition(0).send();
		expect(whole).toBeGreaterThan(256);
		let next = 11;
		for (const length of range(257, whole)) {
			replace(isSend, (reply) => [shortened(reply, length)]);
			const n = next++;
			await publish.publish().json({ n }).partition(0).send();
			expect(Number(server.log.end('shop', topic, 0)), `first ${length} bytes`).toBe(next);
		}
	});

	it('messages that nobody asked for, while nothing is under way: said, and connected again', async () => {
		await connect();
		for (const message of [
			Buffer.alloc(3),
			frame({ command: 99 }),
			frame({ command: 8, request: 2n ** 40n, operation: 2 }),
			'text',
			eviction(1),
		]) {
			const { accepted } = proxy;
			proxy.push(message);
			await until('dialled again', () => proxy.accepted > accepted);
			await until('ready again', () => laser.connection.state === 'ready');
		}
	});
});
