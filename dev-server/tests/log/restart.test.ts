import {
	appendFileSync,
	cpSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { Log } from '../../src/log/log.js';
import { openWebSocket } from '../wire/client.js';
import { Driver, eviction, result, status } from '../wire/driver.js';
import * as build from '../wire/requests.js';

const folder = (): string => mkdtempSync('/tmp/tidemark-log-');
const records = (...texts: string[]) => texts.map((text) => ({ payload: Buffer.from(text) }));
const texts = async (log: Log, partition = 0): Promise<string[]> =>
	(await log.read('s', 't', partition, 0n, 1000)).map((record) => Buffer.from(record.payload).toString());

function segments(root: string): string[] {
	return readdirSync(root, { recursive: true, encoding: 'utf8' })
		.filter((file) => file.endsWith('.segment'))
		.map((file) => join(root, file))
		.sort();
}

let server: DevServer | undefined;
afterEach(async () => {
	await server?.close();
	server = undefined;
});

describe('a restart', () => {
	it('keeps streams, topics, records, stored offsets, groups, tokens and the id counters', async () => {
		const dataDir = folder();
		server = await startServer({ ws: '127.0.0.1:0', dataDir, plane: false });
		const driver = new Driver(await openWebSocket(server.addresses.ws!));
		await driver.login();
		await driver.createTopic('gone', 'x');
		await driver.write(130, build.named('gone'));
		await driver.createTopic('s', 't', 2);
		await driver.send('s', 't', 0, 'a', 'b');
		await driver.send('s', 't', 1, 'c');
		await driver.poll('s', 't', { kind: 5, count: 1, autoCommit: true });
		const where = Buffer.concat([build.named('s'), build.named('t')]);
		await driver.write(139, Buffer.concat([where, build.name('g')]));
		const token = await driver.write(146, Buffer.concat([build.name('ci'), build.u64(0n)]));
		await server.faults.apply({ kind: 'trim', stream: 's', topic: 't', partition: 1 });
		const before = { topic: await driver.read(300, where), streams: await driver.read(201) };
		const session = driver.session;
		await server.close();

		server = await startServer({ ws: '127.0.0.1:0', dataDir, plane: false });
		const again = new Driver(await openWebSocket(server.addresses.ws!));
		await again.login();
		expect(again.session).toBeGreaterThan(session);
		expect((await again.read(300, where)).subarray(256)).toEqual(before.topic.subarray(256));
		expect((await again.read(201)).subarray(256)).toEqual(before.streams.subarray(256));
		const next = await again.poll('s', 't', { kind: 5, count: 9 });
		expect(next.messages).toEqual([{ offset: 1n, payload: 'b' }]);
		expect((await again.poll('s', 't', { partitionId: 1 })).current).toBe(0n);
		expect(server.log.start('s', 't', 1)).toBe(1n);
		await again.send('s', 't', 1, 'd');
		expect((await again.poll('s', 't', { partitionId: 1 })).messages).toEqual([{ offset: 1n, payload: 'd' }]);
		expect((await again.read(600, Buffer.concat([where, build.named('g')]))).length).toBeGreaterThan(256);
		const third = await openWebSocket(server.addresses.ws!);
		const secret = token.subarray(261, 261 + token[260]!).toString();
		expect(eviction(await third.call(build.tokenLogin(secret, Buffer.alloc(16, 3))))).toBeUndefined();
		// The deleted stream was 0 and this one 1: the next is 2, not an old number again.
		await again.createTopic('new', 'x');
		expect(server.log.catalog.streamByName('new')!.id).toBe(2);
		expect(result(await again.write(130, build.named('new')))).toBe(0);
		expect(readFileSync(join(dataDir, 'log', 'catalog.journal'), 'utf8')).not.toContain(secret);
	});

	it('keeps offsets near 2^64', async () => {
		const dataDir = folder();
		const first = 2n ** 64n - 3n;
		let log = new Log({ dataDir });
		log.setFirstOffset('s', 't', undefined, first);
		await log.ensureTopic('s', 't', 1);
		await log.append('s', 't', 0, records('a', 'b'));
		log.close();
		log = new Log({ dataDir });
		expect([log.start('s', 't', 0), log.end('s', 't', 0)]).toEqual([first, first + 2n]);
		await log.append('s', 't', 0, records('c'));
		expect((await log.read('s', 't', 0, 0n, 9)).map((record) => record.offset)).toEqual([
			first,
			first + 1n,
			first + 2n,
		]);
		await expect(log.append('s', 't', 0, records('d'))).rejects.toThrow(RangeError);
		log.close();
		log = new Log({ dataDir });
		expect(log.end('s', 't', 0)).toBe(2n ** 64n);
		log.close();
	});

	it('removes folders whose deletion was not finished', async () => {
		const dataDir = folder();
		let log = new Log({ dataDir });
		await log.ensureTopic('s', 't', 1);
		await log.append('s', 't', 0, records('a'));
		cpSync(join(dataDir, 'log', 'stream-0'), join(dataDir, 'log', 'stream-7'), { recursive: true });
		log.close();
		log = new Log({ dataDir });
		expect(segments(dataDir)).toHaveLength(1);
		expect(await texts(log)).toEqual(['a']);
		log.close();
	});
});

it('a data folder has one owner at a time', () => {
	const dataDir = folder();
	const log = new Log({ dataDir });
	expect(() => new Log({ dataDir })).toThrow(/in use by process/);
	log.close();
	new Log({ dataDir }).close();
	writeFileSync(join(dataDir, 'lock'), '1\n');
	expect(() => new Log({ dataDir })).toThrow('in use by process 1');
	writeFileSync(join(dataDir, 'lock'), '4194305\n');
	new Log({ dataDir }).close();
});

describe('a torn tail', () => {
	it('is cut off wherever the write stopped, and appends go on', async () => {
		const origin = folder();
		const log = new Log({ dataDir: origin });
		await log.ensureTopic('s', 't', 1);
		await log.append('s', 't', 0, records('a', 'b'));
		const [path] = segments(origin);
		const whole = statSync(path!).size;
		await log.append('s', 't', 0, records('lost'));
		log.close();
		const bytes = readFileSync(path!);
		for (let length = whole; length < bytes.length; length += 5) {
			writeFileSync(path!, bytes.subarray(0, length));
			const copy = folder();
			cpSync(origin, copy, { recursive: true });
			const reopened = new Log({ dataDir: copy });
			expect(await texts(reopened)).toEqual(['a', 'b']);
			expect(await reopened.append('s', 't', 0, records('c'))).toBe(2n);
			reopened.close();
			const last = new Log({ dataDir: copy });
			expect(await texts(last)).toEqual(['a', 'b', 'c']);
			last.close();
		}
	});

	it('of garbage is cut off too', async () => {
		const dataDir = folder();
		let log = new Log({ dataDir });
		await log.ensureTopic('s', 't', 1);
		await log.append('s', 't', 0, records('a'));
		log.close();
		appendFileSync(segments(dataDir)[0]!, Buffer.alloc(1000, 0xff));
		log = new Log({ dataDir });
		expect(await texts(log)).toEqual(['a']);
		log.close();
	});

	it('of the catalog loses only the entry that was being written', async () => {
		const dataDir = folder();
		let log = new Log({ dataDir });
		await log.ensureTopic('s', 't', 1);
		log.close();
		const path = join(dataDir, 'log', 'catalog.journal');
		const text = readFileSync(path, 'utf8');
		writeFileSync(path, text.slice(0, -10));
		log = new Log({ dataDir });
		expect(log.partitionCount('s', 't')).toBe(0);
		log.close();
		writeFileSync(path, text.replace('stream+', 'stream?'));
		expect(() => new Log({ dataDir })).toThrow(/damaged in line/);
	});

	it('is damage anywhere but at the end, and says so', async () => {
		const dataDir = folder();
		const log = new Log({ dataDir });
		await log.ensureStream('s');
		const stream = log.catalog.streamByName('s')!;
		log.createTopic(stream, { name: 't', partitions: 1, segmentBytes: 1024n });
		for (let index = 0; index < 5; index++) await log.append('s', 't', 0, [{ payload: Buffer.alloc(900) }]);
		log.close();
		const [first] = segments(dataDir);
		writeFileSync(first!, readFileSync(first!).subarray(0, 500));
		expect(() => new Log({ dataDir })).toThrow(/damaged at byte 0/);
	});
});

describe('segments', () => {
	it.each([undefined, 'disk'])('are read across, trimmed and rolled (%s)', async (kind) => {
		const dataDir = kind && folder();
		const log = new Log({ dataDir });
		await log.ensureStream('s');
		const topic = log.createTopic(log.catalog.streamByName('s')!, {
			name: 't',
			partitions: 1,
			segmentBytes: 2000n,
		});
		const all: string[] = [];
		for (let index = 0; index < 60; index++) {
			const batch = Array.from({ length: 1 + (index % 4) }, (_, at) => `${index}.${at}`);
			all.push(...batch);
			await log.append('s', 't', 0, records(...batch));
		}
		expect(log.partition(topic, 0)!.segments).toBeGreaterThan(5);
		for (let from = 0; from < all.length; from += 3) {
			for (const count of [1, 2, 7, 50, 1000]) {
				const read = await log.read('s', 't', 0, BigInt(from), count);
				expect(read.map((record) => Buffer.from(record.payload).toString())).toEqual(
					all.slice(from, from + count),
				);
			}
		}
		for (const before of [1n, 40n, 41n, 100n]) {
			log.trimPartition(topic, 0, before);
			expect(log.start('s', 't', 0)).toBe(before);
			expect(await texts(log)).toEqual(all.slice(Number(before)));
		}
		if (dataDir) expect(segments(dataDir)).toHaveLength(log.partition(topic, 0)!.segments);
		log.trimPartition(topic, 0, 'all');
		expect([await texts(log), log.end('s', 't', 0)]).toEqual([[], BigInt(all.length)]);
		log.close();
	});

	it('a reply never exceeds the bytes allowed, except by a first message that is larger alone', async () => {
		const log = new Log();
		await log.ensureTopic('s', 't', 1);
		const partition = log.partition(log.findTopic('s', 't')!, 0)!;
		await log.append('s', 't', 0, records('a'.repeat(1000), 'b'.repeat(1000), 'c'.repeat(1000)));
		await log.append('s', 't', 0, records('d'.repeat(1000), 'e'));
		for (let room = 300; room < 5500; room += 50) {
			const seen: bigint[] = [];
			let next = 0n;
			while (next < 5n) {
				const read = partition.read(next, 100, room);
				expect(read.count).toBeGreaterThan(0);
				if (read.count > 1) expect(read.bytes.length).toBeLessThanOrEqual(room);
				for (let at = next; at <= read.last!; at++) seen.push(at);
				next = read.last! + 1n;
			}
			expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
		}
	});
});

describe('retention', () => {
	it('drops what is older than the expiry, of topics with and without one of their own', async () => {
		const log = new Log({ retentionMs: 60 });
		await log.ensureTopic('s', 'default', 1);
		const stream = log.catalog.streamByName('s')!;
		log.createTopic(stream, { name: 'short', partitions: 1, messageExpiry: 60_000n });
		log.createTopic(stream, { name: 'long', partitions: 1, messageExpiry: 60_000_000n });
		for (const topic of ['default', 'short', 'long']) await log.append('s', topic, 0, records('old'));
		await new Promise((done) => setTimeout(done, 100));
		for (const topic of ['default', 'short', 'long']) await log.append('s', topic, 0, records('new'));
		log.enforceRetention();
		expect(['default', 'short', 'long'].map((topic) => log.start('s', topic, 0))).toEqual([1n, 1n, 0n]);
		log.close();
	});

	it('drops the oldest records of a topic above its size, whichever partition holds them', async () => {
		const log = new Log();
		await log.ensureStream('s');
		const topic = log.createTopic(log.catalog.streamByName('s')!, {
			name: 't',
			partitions: 2,
			maxTopicSize: 5000n,
		});
		for (let index = 0; index < 10; index++)
			await log.append('s', 't', index % 2, [{ payload: Buffer.alloc(696) }]);
		log.enforceRetention();
		const kept = topic.partitions.reduce(
			(sum, meta) => sum + log.partition(topic, meta.id)!.retainedBytes,
			0,
		);
		expect(kept).toBe(5000);
		expect([log.start('s', 't', 0), log.start('s', 't', 1)]).toEqual([3n, 2n]);
		log.close();
	});
});

it('a start that fails lets go of the data folder', async () => {
	const dataDir = folder();
	server = await startServer({ tcp: '127.0.0.1:0', plane: false });
	const taken = server.addresses.tcp!;
	await expect(startServer({ tcp: taken, dataDir, plane: false })).rejects.toThrow('EADDRINUSE');
	new Log({ dataDir }).close();
});

it('one server answers a login of a user that an earlier run knew under the same id', async () => {
	const dataDir = folder();
	const users = [
		{ name: 'ada', password: 'lovelace' },
		{ name: 'bob', password: 'builder' },
	];
	server = await startServer({ ws: '127.0.0.1:0', dataDir, plane: false, users });
	await server.close();
	server = await startServer({ ws: '127.0.0.1:0', dataDir, plane: false, users: users.reverse() });
	const client = await openWebSocket(server.addresses.ws!);
	const reply = await client.call(build.login('bob', 'builder'));
	expect([status(reply), reply.readUInt32LE(260)]).toEqual([0, 1]);
});
