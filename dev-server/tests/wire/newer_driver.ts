import type { RawClient } from './client.js';
import * as build from './requests.js';

export interface Route {
	incarnation: bigint;
	metadataOp: bigint;
	partitions: number;
}

/** A client of protocol 0.12.2: contexts, request identifiers, a session that can be bound again. */
export class NewerDriver {
	session = 0n;
	request = 0n;
	watermark = 0n;
	#identifier = 1000n;

	constructor(
		public client: RawClient,
		readonly id: Buffer = build.CLIENT,
		readonly secret: Buffer = build.SECRET,
	) {}

	async login(): Promise<Buffer> {
		const reply = await this.client.call(build.newerLogin(this.id, this.secret));
		if (reply[60] === 8 && reply.length > 264) this.session = reply.readBigUInt64LE(256 + 8);
		this.#saw(reply);
		return reply;
	}

	bind(session = this.session, secret = this.secret, watermark = this.watermark): Promise<Buffer> {
		const body = build.bindBody(this.id, session, watermark, secret);
		return this.client.call(build.frame(2, 15, body, { request: 0n, session: 0n, client: this.id }));
	}

	frame(operation: number, code: number, body: Buffer, context: Partial<build.Numbers> = {}): Buffer {
		const identified = operation < 160 && operation !== 2;
		return build.frame(operation, code, body, {
			request: ++this.request,
			session: this.session,
			client: this.id,
			...(identified ? { checksum: ++this.#identifier } : {}),
			...context,
		});
	}

	async write(operation: number, body: Buffer, context: Partial<build.Numbers> = {}): Promise<Buffer> {
		const reply = await this.client.call(this.frame(operation, 0, body, context));
		if (operation < 160) this.#saw(reply);
		return reply;
	}

	read(code: number, body: Buffer = Buffer.alloc(0), context: Partial<build.Numbers> = {}): Promise<Buffer> {
		return this.client.call(this.frame(2, code, body, context));
	}

	async createTopic(
		stream: string,
		topic: string,
		partitions = 1,
		options = Buffer.alloc(0),
	): Promise<Buffer> {
		await this.write(128, build.name(stream));
		return this.write(
			132,
			Buffer.concat([build.named(stream), build.u32(partitions), build.name(topic), options]),
		);
	}

	async route(stream: string, topic: string, partition = 0): Promise<Route> {
		const body = Buffer.concat([build.named(stream), build.named(topic), build.u32(partition)]);
		const reply = await this.read(105, body);
		if (reply.length !== 256 + 25) throw new Error(`no route: status ${reply.readUInt32LE(216)}`);
		return {
			incarnation: reply.readBigUInt64LE(256),
			metadataOp: reply.readBigUInt64LE(264),
			partitions: reply.readUInt32LE(276),
		};
	}

	sendFrame(stream: string, topic: string, route: Route, ...payloads: string[]): Buffer {
		const messages = payloads.map((payload) => ({ payload: Buffer.from(payload) }));
		return this.frame(160, 0, build.sendBody(stream, topic, 0, messages), context(route));
	}

	send(stream: string, topic: string, route: Route, ...payloads: string[]): Promise<Buffer> {
		return this.client.call(this.sendFrame(stream, topic, route, ...payloads));
	}

	deferred(stream: string, topic: string, route: Route, options: DeferredOptions = {}): Buffer {
		return this.frame(2, 106, deferredBody(stream, topic, options), context(route));
	}

	#saw(reply: Buffer): void {
		const commit = reply.readBigUInt64LE(184);
		if (reply[60] === 8 && commit > this.watermark) this.watermark = commit;
	}
}

export function context(route: Route): { incarnation: bigint; minimumOp: bigint } {
	return { incarnation: route.incarnation, minimumOp: route.metadataOp };
}

export interface DeferredOptions extends build.PollOptions {
	waitMs?: number;
	minimum?: number;
	maxBytes?: number;
	timeoutMs?: number;
}

export function deferredBody(stream: string, topic: string, options: DeferredOptions = {}): Buffer {
	const waitMs = options.waitMs ?? 0;
	return Buffer.concat([
		build.pollBody(stream, topic, options),
		build.u64(BigInt(waitMs) * 1000n),
		build.u32(options.minimum ?? 1),
		build.u32(options.maxBytes ?? 1 << 20),
		build.u64(BigInt(options.timeoutMs ?? waitMs + 5000) * 1000n),
	]);
}
