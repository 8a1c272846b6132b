import { describe, expect, it, vi } from 'vitest';
import type { PublishArgs } from '../../../js/core/contract.js';
import { InvalidError, PublishFailedError } from '../../../js/errors/index.js';
import { ManagedHandle } from '../../../js/managed-handle.js';
import { readHeaders } from '../../../js/topic/headers.js';
import { encodeJson } from '../../../js/topic/json.js';
import { encodeMsgpack } from '../../../js/topic/msgpack.js';
import { Topic } from '../../../js/topic/topic.js';
import { Failure } from '../support/fake-core.js';
import { connected } from '../support/world.js';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

async function laser() {
	const { core, context } = await connected({
		stream: 'acme',
		publishTimeoutMs: 1_000,
		publishMaxRetries: 2,
	});
	const confirmation = { streamId: 1, topicId: 2, partitionId: 0, baseOffset: 2n ** 63n };
	core.answer = (name) => (name === 'publish' ? { confirmations: [confirmation] } : null);
	return { core, handle: new ManagedHandle(context), confirmation };
}

const sent = (core: { named(name: string): unknown[][] }): PublishArgs =>
	core.named('publish').at(-1)![0] as PublishArgs;

describe('publishing', () => {
	it('JSON is declared and nothing else is added', async () => {
		const { core, handle, confirmation } = await laser();
		const response = await handle.topic('orders').publish().json({ id: 4, status: 'paid', total: 20 }).send();
		expect(response).toEqual({ confirmations: [confirmation] });
		const args = sent(core);
		expect(args).toMatchObject({ stream: 'acme', topic: 'orders', timeoutMs: 1_000, maxRetries: 2 });
		expect(args.records).toEqual([
			{ payload: encodeJson({ id: 4, status: 'paid', total: 20 }), contentType: 'json' },
		]);
	});

	it('a placement that is none is refused before anything is sent', async () => {
		const { core, handle } = await laser();
		const one = () => handle.topic('orders').publish().json(1);
		for (const request of [
			...[-1, 1.5, Number.NaN, 2 ** 32, '0' as never].map((id) => one().partition(id)),
			one().partitionKey(5 as never),
			one().partition(0).partitionKey('a'),
		]) {
			await expect(request.send()).rejects.toMatchObject({ kind: 'invalid', rule: 'partitioning' });
		}
		expect(() => one().encodeWith(1, {} as never)).toThrow(InvalidError);
		expect(core.named('publish')).toEqual([]);
	});

	it('a signal that is none is refused before anything is sent', async () => {
		const { core, handle } = await laser();
		const sending = handle
			.topic('orders')
			.publish()
			.json(1)
			.send({ signal: 'soon' as never });
		await expect(sending).rejects.toMatchObject({ kind: 'invalid' });
		expect(core.named('publish')).toEqual([]);
	});

	it('a name that is no text, or holds half of a character, is refused', async () => {
		const { handle } = await laser();
		for (const name of [5, null, undefined, '\ud800', 'a\udc00b']) {
			expect(() => handle.topic(name as string)).toThrow(InvalidError);
		}
		expect(handle.topic('\u{1f600}').name).toBe('\u{1f600}');
	});

	it('passes on every setter', async () => {
		const { core, handle } = await laser();
		await handle
			.topic('orders')
			.publish()
			.rawBytes(Uint8Array.of(1), 'avro')
			.projectionRef('orders.v1')
			.schemaId(7)
			.index('status', 'paid')
			.header('trace', 'x')
			.inlinePayload()
			.partitionKey('user-42')
			.send();
		const args = sent(core);
		expect(args.partitionKey).toEqual(new TextEncoder().encode('user-42'));
		expect(args.records[0]).toEqual({
			payload: Uint8Array.of(1),
			contentType: 'avro',
			projectionRef: 'stream:acme/orders.v1',
			schemaId: 7,
			indexes: [['status', 'paid']],
			headers: [['trace', 'x']],
			inlinePayload: true,
		});
	});

	it('without a body it is invalid, and nothing is sent', async () => {
		const { core, handle } = await laser();
		await expect(handle.topic('orders').publish().send()).rejects.toBeInstanceOf(InvalidError);
		await expect(handle.topic('orders').publishBatch().send()).rejects.toBeInstanceOf(InvalidError);
		expect(core.named('publish')).toEqual([]);
	});

	it.each([null, 5, '', 'half \ud800 a pair', 'x'.repeat(256)])(
		'a topic has no name like %s',
		async (name) => {
			const { context } = await connected();
			expect(() => new Topic(context, 's', name as never)).toThrow(InvalidError);
		},
	);

	it('a batch keeps its order and shares its setters', async () => {
		const { core, handle } = await laser();
		await handle
			.topic('orders')
			.publishBatch()
			.addJson(1)
			.addPayload(Uint8Array.of(2))
			.addRawBytes(Uint8Array.of(3), 'cbor')
			.partition(5)
			.header('a', 'b')
			.send();
		const args = sent(core);
		expect(args.partitionId).toBe(5);
		expect(args.records.map((record) => [...record.payload])).toEqual([[49], [2], [3]]);
		expect(args.records.map((record) => record.contentType)).toEqual(['json', undefined, 'cbor']);
		expect(args.records.every((record) => record.headers?.[0]?.[0] === 'a')).toBe(true);
	});

	it('a codec brings its bytes and its content type', async () => {
		const { core, handle } = await laser();
		const codec = { contentType: 'protobuf' as const, encode: (value: number) => Uint8Array.of(value) };
		await handle.topic('orders').publish().encodeWith(9, codec).send();
		expect(sent(core).records[0]).toEqual({ payload: Uint8Array.of(9), contentType: 'protobuf' });
	});

	it('exhausted retries say how much is stored, and where to', async () => {
		const { core, handle } = await laser();
		core.answer = () => new Failure({ kind: 'publish', message: 'gave up', committed: 2, unconfirmed: 3 });
		const error = await handle
			.topic('orders')
			.publish()
			.json(1)
			.send()
			.catch((caught: unknown) => caught);
		expect(error).toBeInstanceOf(PublishFailedError);
		expect(error).toMatchObject({ committed: 2, unconfirmed: 3, stream: 'acme', topic: 'orders' });
	});
});

describe('ensure', () => {
	it('creates the stream where it is missing, then the topic', async () => {
		const { core, handle } = await laser();
		let isThere = false;
		core.answer = (name, command) => {
			if (name !== 'call') return null;
			if (command === 202) isThere = true;
			return command === 302 && !isThere
				? new Failure({ kind: 'command', message: 'no stream', code: 1009, codeName: 'StreamIdNotFound' })
				: null;
		};
		await handle.topic('orders').ensure(3);
		expect(core.named('call').map((call) => call.slice(0, 2))).toEqual([
			[302, { streamId: 'acme', name: 'orders', partitionsCount: 3 }],
			[202, { name: 'acme' }],
			[302, { streamId: 'acme', name: 'orders', partitionsCount: 3 }],
		]);
		expect(core.named('call').every((call) => (call[2] as { ensure?: boolean }).ensure)).toBe(true);
		await expect(handle.topic('orders').ensure(0)).rejects.toBeInstanceOf(InvalidError);
	});
});

describe('JSON', () => {
	it('writes bigints as numbers with all their digits', () => {
		const value = { a: 2n ** 64n - 1n, b: [-(2n ** 63n)], c: 'text: 12', d: new Date(0), e: 1.5 };
		expect(text(encodeJson(value))).toBe(
			'{"a":18446744073709551615,"b":[-9223372036854775808],"c":"text: 12","d":"1970-01-01T00:00:00.000Z","e":1.5}',
		);
		expect(text(encodeJson(7n))).toBe('7');
	});

	it('keeps __proto__ as a name', () => {
		expect(text(encodeJson(JSON.parse('{"__proto__":{"a":1}}')))).toBe('{"__proto__":{"a":1}}');
	});

	it('nests no deeper than can be written, and says so', () => {
		let deep: unknown = [];
		for (let depth = 0; depth < 200_000; depth++) deep = [deep];
		expect(() => encodeJson(deep)).toThrow(InvalidError);
	});

	it('writes bigints where there is no secure context', () => {
		vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
		expect(new TextDecoder().decode(encodeJson({ a: 2n ** 70n }))).toBe(`{"a":${2n ** 70n}}`);
		vi.unstubAllGlobals();
	});

	it('refuses what has no JSON form', () => {
		const loop: Record<string, unknown> = {};
		loop['self'] = loop;
		for (const bad of [undefined, () => 1, loop]) expect(() => encodeJson(bad)).toThrow(InvalidError);
	});
});

describe('MessagePack', () => {
	it.each([
		[null, 'c0'],
		[true, 'c3'],
		[127, '7f'],
		[128, 'cc80'],
		[256, 'cd0100'],
		[65536, 'ce00010000'],
		[2n ** 64n - 1n, 'cfffffffffffffffff'],
		[-32, 'e0'],
		[-33, 'd0df'],
		[-129, 'd1ff7f'],
		[-32769, 'd2ffff7fff'],
		[-(2n ** 63n), 'd38000000000000000'],
		[1.5, 'cb3ff8000000000000'],
		['é', 'a2c3a9'],
		['x'.repeat(32), `d920${'78'.repeat(32)}`],
		[Uint8Array.of(1, 2), 'c4020102'],
		[[1, [2]], '9201 9102'.replace(' ', '')],
		[{ a: 1, b: undefined, c: null }, '82a16101a163c0'],
	])('writes %s as %s', (value, expected) => {
		expect(hex(encodeMsgpack(value))).toBe(expected);
	});

	it('refuses what has no form', () => {
		const loop: unknown[] = [];
		loop.push(loop);
		const noEntries = [new Date(), new Set([1]), new ArrayBuffer(2), new Uint16Array(2), /x/];
		for (const bad of [2n ** 64n, () => 1, loop, Symbol('x'), new Map([[1, 2]]), ...noEntries]) {
			expect(() => encodeMsgpack(bad)).toThrow(InvalidError);
		}
	});
});

describe('headers', () => {
	const field = (kind: number, bytes: number[]) => [kind, bytes.length, 0, 0, 0, ...bytes];
	const name = (letter: string) => field(2, [letter.charCodeAt(0)]);

	it('are read by their kinds, 64 bits and more exactly', () => {
		const block = Uint8Array.from([
			...name('t'),
			...field(2, [104, 105]),
			...name('b'),
			...field(3, [1]),
			...name('u'),
			...field(12, [255, 255, 255, 255, 255, 255, 255, 255]),
			...name('i'),
			...field(7, [255, 255, 255, 255, 255, 255, 255, 255]),
			...name('w'),
			...field(13, new Array(16).fill(255)),
			...name('x'),
			...field(200, [9]),
		]);
		expect([...readHeaders(block)]).toEqual([
			['t', 'hi'],
			['b', true],
			['u', 2n ** 64n - 1n],
			['i', -1n],
			['w', 2n ** 128n - 1n],
			['x', Uint8Array.of(9)],
		]);
	});

	it('a broken block gives what came before the break', () => {
		const good = [...name('t'), ...field(2, [104])];
		for (const tail of [[2], [0, 1, 0, 0, 0, 1], [2, 255, 255, 255, 255, 1], name('k')]) {
			expect([...readHeaders(Uint8Array.from([...good, ...tail]))]).toEqual([['t', 'h']]);
		}
	});
});
