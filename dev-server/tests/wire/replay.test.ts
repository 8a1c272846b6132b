import { afterEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../src/index.js';
import { openWebSocket } from './client.js';
import { bytes, hasReply, session } from './vectors.js';

let server: DevServer | undefined;
afterEach(() => server?.close());

/** Blanks what belongs to one run: ids of connections, times, commit numbers, the cluster. */
function comparable(frame: Buffer): string {
	const copy = Buffer.from(frame);
	copy.fill(0, 32, 48);
	if (copy[60] === 13) {
		copy.fill(0, 128, 144);
		return copy.toString('hex');
	}
	copy.fill(0, 160, 200);
	return copy.toString('hex');
}

/** Bytes of a body that carry ids or times of the recording, by the vector's name. */
const BLANK: Record<string, [number, number][]> = {
	p11_live_06_create_stream: [[264, 272]],
	p11_live_08_create_topic: [
		[264, 272],
		[597, 605],
		// The original makes the first segment a moment after the reply.
		[605, 609],
	],
	p11_live_09_get_streams: [[260, 268]],
	p11_live_10_get_topic: [
		[260, 268],
		[593, 601],
	],
	p11_live_13_poll_all: [
		[288, 296],
		[312, 320],
		[650, 658],
		[674, 682],
	],
	p11_live_16_poll_next_commit: [
		[288, 296],
		[312, 320],
	],
	s11_live_04_create_stream: [
		[260, 264],
		[264, 272],
	],
	s11_live_08_send_partition: [[260, 264]],
	s11_live_10_send_balanced: [[260, 264]],
	s11_live_11_send_key: [[260, 264]],
	s11_live_12_poll_offset: [
		[288, 296],
		[312, 320],
	],
	s11_live_14_poll_next_auto_commit: [
		[288, 296],
		[312, 320],
	],
	s11_live_23_group_poll: [
		[288, 296],
		[312, 320],
	],
};

/** Bodies that name the server itself or its own catalogue of options. */
const OWN_BODY = new Set([
	'p11_live_05_login',
	'p11_live_22_get_me',
	's11_live_01_login',
	's11_live_02_cluster_metadata',
	's11_live_27_describe_options',
]);

describe.each([
	['p11_live_', 'snapshot'],
	['s11_live_', 's11'],
] as const)('the recorded session %s', (prefix, dialect) => {
	it('is answered like the original server answered it', async () => {
		server = await startServer({ ws: '127.0.0.1:0', dialect, plane: false });
		const client = await openWebSocket(server.addresses.ws!);
		let compared = 0;
		for (const name of session(prefix)) {
			const reply = await client.call(bytes(`${name}_request`));
			if (!hasReply(name)) continue;
			const expected = bytes(`${name}_reply`);
			if (OWN_BODY.has(name)) {
				expected.fill(0, 48, 52);
				reply.fill(0, 48, 52);
				expect(comparable(reply.subarray(0, 256)), name).toBe(comparable(expected.subarray(0, 256)));
			} else {
				expect(reply.length, name).toBe(expected.length);
				for (const [from, to] of BLANK[name] ?? []) {
					reply.fill(0, from, to);
					expected.fill(0, from, to);
				}
				if (name.endsWith('group_poll')) blankBatches(reply, expected);
				expect(comparable(reply), name).toBe(comparable(expected));
			}
			compared++;
		}
		expect(compared).toBeGreaterThan(20);
	});
});

/** Append times and batch checksums of every record of a poll reply. */
function blankBatches(...frames: Buffer[]): void {
	for (const frame of frames) {
		for (let at = 272; at < frame.length; at += Number(frame.readBigUInt64LE(at + 32))) {
			frame.fill(0, at + 16, at + 24);
			frame.fill(0, at + 40, at + 48);
		}
	}
}

describe('request vectors', () => {
	it.each([
		's11_create_topic_request',
		's11_create_topic_all_options_request',
		'p11_create_topic_options_request',
	])('%s is understood', async (name) => {
		server = await startServer({ ws: '127.0.0.1:0', dialect: 's11', plane: false });
		await server.log.ensureStream('orders');
		await server.log.ensureStream('second');
		const client = await openWebSocket(server.addresses.ws!);
		await client.call(bytes('s11_login_rust_sdk_request'));
		const reply = await client.call(bytes(name));
		expect(reply.readUInt32LE(216)).toBe(0);
		expect(reply.readUInt32LE(256)).toBe(0);
		expect(reply[208]).toBe(64);
	});

	it('a topic made with default settings is described byte for byte', async () => {
		server = await startServer({ ws: '127.0.0.1:0', dialect: 's11', plane: false });
		await server.log.ensureStream('orders');
		const client = await openWebSocket(server.addresses.ws!);
		await client.call(bytes('s11_login_rust_sdk_request'));
		const reply = await client.call(bytes('s11_create_topic_request'));
		const expected = bytes('s11_create_topic_reply_ok');
		expect(reply.length).toBe(expected.length);
		// Ids, creation times, and the partition's own (its id is 1 in the vector).
		for (const frame of [reply, expected]) {
			frame.fill(0, 260, 272);
			frame.fill(0, frame.length - 40);
		}
		expect(reply.subarray(256).toString('hex')).toBe(expected.subarray(256).toString('hex'));
	});
});
