import type { RawClient } from './client.js';
import * as build from './requests.js';

/** A logged-in client that numbers its requests as the protocol asks. */
export class Driver {
	session = 0n;
	request = 0n;

	constructor(
		readonly client: RawClient,
		readonly id: Buffer = build.CLIENT,
	) {}

	async login(user = 'iggy', password = 'iggy'): Promise<Buffer> {
		const reply = await this.client.call(build.login(user, password, { client: this.id }));
		if (reply[60] === 8) this.session = reply.readBigUInt64LE(256 + 8);
		return reply;
	}

	frame(operation: number, code: number, body: Buffer): Buffer {
		const numbers = { request: ++this.request, session: this.session, client: this.id };
		return build.frame(operation, code, body, numbers);
	}

	read(code: number, body: Buffer = Buffer.alloc(0)): Promise<Buffer> {
		return this.client.call(this.frame(2, code, body));
	}

	write(operation: number, body: Buffer): Promise<Buffer> {
		return this.client.call(this.frame(operation, 0, body));
	}

	async createTopic(
		stream: string,
		topic: string,
		partitions = 1,
		options = Buffer.alloc(0),
	): Promise<Buffer> {
		await this.write(128, build.name(stream));
		const body = [build.named(stream), build.u32(partitions), build.name(topic), options];
		return this.write(132, Buffer.concat(body));
	}

	send(stream: string, topic: string, partitionId: number, ...payloads: string[]): Promise<Buffer> {
		const messages = payloads.map((payload) => ({ payload: Buffer.from(payload) }));
		return this.write(160, build.sendBody(stream, topic, partitionId, messages));
	}

	async poll(stream: string, topic: string, options: build.PollOptions = {}): Promise<build.Polled> {
		return build.readPoll(await this.read(100, build.pollBody(stream, topic, options)));
	}
}

export const status = (reply: Buffer): number => reply.readUInt32LE(216);

/** The code of the first result entry; 0 on success. */
export function result(reply: Buffer): number {
	if (status(reply) !== 0) throw new Error(`status ${status(reply)}`);
	return reply.readUInt32LE(256) === 0 ? 0 : reply.readUInt32LE(256 + 8);
}

/** The reason of an eviction; undefined for a reply. */
export function eviction(frame: Buffer): number | undefined {
	return frame[60] === 13 ? frame[255] : undefined;
}
