import { hash64 } from '../../src/log/hash.js';

/** Builds request frames by hand, from the layouts of the protocol text. */

export const u8 = (value: number): Buffer => Buffer.from([value]);
export const u32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value);
	return bytes;
};
export const u64 = (value: bigint): Buffer => {
	const bytes = Buffer.alloc(8);
	bytes.writeBigUInt64LE(value);
	return bytes;
};
export const name = (text: string): Buffer => Buffer.concat([u8(Buffer.byteLength(text)), Buffer.from(text)]);
export const named = (text: string): Buffer => Buffer.concat([u8(2), name(text)]);
export const numbered = (id: number): Buffer => Buffer.concat([u8(1), u8(4), u32(id)]);
export const consumer = (text: string): Buffer => Buffer.concat([u8(1), named(text)]);
export const group = (text: string): Buffer => Buffer.concat([u8(2), named(text)]);
export const partition = (id: number): Buffer => Buffer.concat([u8(1), u32(id)]);

export interface Numbers {
	request: bigint;
	session: bigint;
	client?: Buffer;
	checksum?: bigint;
	incarnation?: bigint;
	owner?: bigint;
	minimumOp?: bigint;
}

export const CLIENT = Buffer.from('0102030405060708090a0b0c0d0e0f10', 'hex');

export function frame(operation: number, code: number, body: Buffer, numbers: Numbers): Buffer {
	const header = Buffer.alloc(256);
	header.writeUInt32LE(256 + body.length, 48);
	header[60] = 5;
	(numbers.client ?? CLIENT).copy(header, 128);
	header.writeBigUInt64LE(numbers.checksum ?? 0n, 144);
	header.writeBigUInt64LE(numbers.request, 168);
	header[176] = operation;
	header.writeBigUInt64LE(numbers.session, 184);
	header.writeUInt32LE(code, 196);
	header.writeBigUInt64LE(numbers.incarnation ?? 0n, 200);
	header.writeBigUInt64LE(numbers.owner ?? 0n, 208);
	header.writeBigUInt64LE(numbers.minimumOp ?? 0n, 216);
	return Buffer.concat([header, body]);
}

export const checksumOf = (body: Buffer): bigint => hash64(body);

const VERSION_0_11_0 = 11264;

export function login(
	user = 'iggy',
	password = 'iggy',
	options: { version?: number; client?: Buffer } = {},
): Buffer {
	const prefix = [u32(options.version ?? VERSION_0_11_0), name('test'), name('1')];
	const body = Buffer.concat([...prefix, name(user), name(password), u32(0)]);
	return frame(1, 0, body, {
		request: 0n,
		session: 0n,
		...(options.client ? { client: options.client } : {}),
	});
}

export function tokenLogin(token: string, client = CLIENT): Buffer {
	const body = Buffer.concat([u32(VERSION_0_11_0), name('test'), name('1'), name(token), u32(0)]);
	return frame(1, 0, body, { request: 0n, session: 0n, client });
}

export const VERSION_0_12_2 = 12290;
export const SECRET = Buffer.alloc(32, 0xa5);

export function newerLogin(client: Buffer, secret = SECRET, user = 'iggy', password = 'iggy'): Buffer {
	const prefix = [u32(VERSION_0_12_2), name('test'), name('1'), secret];
	const body = Buffer.concat([...prefix, name(user), name(password), u32(0)]);
	return frame(1, 0, body, { request: 0n, session: 0n, client, checksum: 77n });
}

export function bindBody(client: Buffer, session: bigint, watermark: bigint, secret = SECRET): Buffer {
	const prefix = [u32(VERSION_0_12_2), name('test'), name('1')];
	return Buffer.concat([...prefix, client, u64(session), u64(watermark), secret]);
}

export interface Message {
	payload: Buffer;
	headers?: Buffer;
	id?: bigint;
}

export function option(key: string, value: string): Buffer {
	const field = (text: string) => Buffer.concat([u8(2), u32(Buffer.byteLength(text)), Buffer.from(text)]);
	return Buffer.concat([field(key), field(value)]);
}

export interface Producer {
	id: bigint;
	epoch: number;
	sequence: number;
}

/** A producer's batch, with its own arithmetic so that a fault of the server's cannot hide. */
export function batch(messages: Message[], producer?: Producer): Buffer {
	const frames = messages.map(({ payload, headers = Buffer.alloc(0), id = 1n }, index) => {
		const rest = Buffer.concat([
			u64(id),
			u64(0n),
			u32(index),
			u32(0),
			u32(headers.length),
			u32(payload.length),
			u64(0n),
			payload,
			headers,
		]);
		return Buffer.concat([u64(hash64(rest)), rest]);
	});
	const header = Buffer.alloc(256);
	header.writeBigUInt64LE(1_764_500_000_000_000n, 24);
	header.writeBigUInt64LE(BigInt(256 + frames.reduce((sum, one) => sum + one.length, 0)), 32);
	header.writeUInt32LE(messages.length, 48);
	if (producer) {
		header[52] = 1;
		header.writeBigUInt64LE(producer.id, 56);
		header.writeUInt16LE(producer.epoch, 64);
		header.writeUInt32LE(producer.sequence, 68);
	}
	const input = Buffer.concat([
		header.subarray(0, 40),
		header.subarray(48, 52),
		...(producer ? [u8(1), header.subarray(56, 66), header.subarray(68, 72)] : []),
		...frames.map((one) => one.subarray(0, 8)),
	]);
	header.writeBigUInt64LE(hash64(input), 40);
	return Buffer.concat([header, ...frames]);
}

export function sendBody(stream: string, topic: string, partitionId: number, messages: Message[]): Buffer {
	return bodyWith(stream, topic, partitionId, messages.length, batch(messages));
}

export function producedBody(
	stream: string,
	topic: string,
	partitionId: number,
	producer: Producer,
	messages: Message[],
): Buffer {
	return bodyWith(stream, topic, partitionId, messages.length, batch(messages, producer));
}

function bodyWith(
	stream: string,
	topic: string,
	partitionId: number,
	count: number,
	records: Buffer,
): Buffer {
	const metadata = Buffer.concat([named(stream), named(topic), u8(2), u8(4), u32(partitionId), u32(count)]);
	return Buffer.concat([u32(metadata.length), metadata, records]);
}

export interface PollOptions {
	partitionId?: number;
	consumer?: Buffer;
	kind?: number;
	value?: bigint;
	count?: number;
	autoCommit?: boolean;
}

export function pollBody(stream: string, topic: string, options: PollOptions = {}): Buffer {
	return Buffer.concat([
		options.consumer ?? consumer('reader'),
		named(stream),
		named(topic),
		partition(options.partitionId ?? 0),
		u8(options.kind ?? 1),
		u64(options.value ?? 0n),
		u32(options.count ?? 100),
		u8(options.autoCommit ? 1 : 0),
	]);
}

export interface Polled {
	status: number;
	partitionId: number;
	current: bigint;
	count: number;
	messages: { offset: bigint; payload: string }[];
	batches: number;
}

/** Reads a poll reply and checks every checksum in it. The prefix is 40 bytes in 0.12. */
export function readPoll(reply: Buffer, prefix = 16): Polled {
	const status = reply.readUInt32LE(216);
	if (status !== 0) return { status, partitionId: 0, current: 0n, count: 0, messages: [], batches: 0 };
	const body = reply.subarray(256);
	const batches: number[] = [];
	const messages = readRecords(body, prefix, batches);
	return {
		status,
		partitionId: body.readUInt32LE(0),
		current: body.readBigUInt64LE(4),
		count: body.readUInt32LE(12),
		messages,
		batches: batches.length,
	};
}

/** Reads stored batches that stand back to back, and checks every checksum in them. */
export function readRecords(body: Buffer, from: number, batches: number[] = []): Polled['messages'] {
	const messages: Polled['messages'] = [];
	let at = from;
	while (at < body.length) {
		const base = body.readBigUInt64LE(at + 8);
		const end = at + Number(body.readBigUInt64LE(at + 32));
		const count = body.readUInt32LE(at + 48);
		const checksums: Buffer[] = [body.subarray(at, at + 40), body.subarray(at + 48, at + 52)];
		let next = at + 256;
		for (let index = 0; index < count; index++) {
			const headers = body.readUInt32LE(next + 32);
			const payload = body.readUInt32LE(next + 36);
			const stop = next + 48 + payload + headers;
			if (hash64(body.subarray(next + 8, stop)) !== body.readBigUInt64LE(next))
				throw new Error('message checksum');
			checksums.push(body.subarray(next, next + 8));
			messages.push({
				offset: base + BigInt(body.readUInt32LE(next + 24)),
				payload: body.subarray(next + 48, next + 48 + payload).toString(),
			});
			next = stop;
		}
		if (next !== end) throw new Error('batch length');
		if (hash64(Buffer.concat(checksums)) !== body.readBigUInt64LE(at + 40)) throw new Error('batch checksum');
		batches.push(count);
		at = end;
	}
	return messages;
}
