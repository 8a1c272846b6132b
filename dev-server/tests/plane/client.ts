/** Speaks to a plane as a client would: requests built from plain objects, answers decoded. */
import { randomBytes } from 'node:crypto';
import type { PlaneOptions } from '../../src/contract.js';
import type { DevPlane } from '../../src/plane/index.js';
import { decodeCbor, encodeCbor } from '../../src/plane/wire/cbor.js';
import type { MemoryLog } from './memory_log.js';

export const OPTIONS: PlaneOptions = { readyAfterMs: 0, feedPartitions: 1, streamTenancy: false };
const CONTEXT = { userId: 1, connectionId: 1 };

// biome-ignore lint/suspicious/noExplicitAny: answers are walked freely by the tests
export type Answer = any;

export class TestClient {
	#nextOperation = BigInt(`0x${randomBytes(12).toString('hex')}`);

	constructor(
		readonly plane: DevPlane,
		readonly log: MemoryLog,
	) {}

	async raw(code: number, body: Uint8Array): Promise<Answer> {
		return decodeCbor(await this.plane.handle(code, body, CONTEXT));
	}

	send(code: number, message: unknown): Promise<Answer> {
		return this.raw(code, encodeCbor(message));
	}

	hello(): Promise<Answer> {
		return this.raw(1_000_000, new Uint8Array());
	}

	mutate(code: number, message: unknown, operationId = ++this.#nextOperation): Promise<Answer> {
		return this.send(code, { v: 1n, operation_id: operationId, payload: encodeCbor(message) });
	}

	control(command: unknown, operationId?: bigint): Promise<Answer> {
		return this.mutate(1_000_108, { v: 1n, timestamp_micros: 0n, command }, operationId);
	}

	registerProjection(id: string, fields: unknown[], inline = false): Promise<Answer> {
		return this.control({
			RegisterProjection: {
				id,
				name: id,
				version: 1n,
				content_type: 'json',
				extraction: { fields, inline_payload: inline },
				inline_payload_default: inline,
			},
		});
	}

	applyBinding(binding: Record<string, unknown>): Promise<Answer> {
		return this.control({
			ApplyBinding: { allowed_projections: [binding['default_projection']], ...binding },
		});
	}

	async query(index: string, query: Record<string, unknown> = {}): Promise<Answer> {
		return this.send(1_000_200, { v: 1n, query: queryOn(index, query) });
	}

	/** Rows as plain arrays of values. */
	async rows(index: string, query: Record<string, unknown> = {}): Promise<unknown[][]> {
		const reply = await this.query(index, query);
		if (reply.Ok === undefined) throw new Error(`query failed: ${text(reply)}`);
		return plainRows(reply);
	}

	publish(stream: string, topic: string, partitionId: number, values: unknown[], headers?: Uint8Array) {
		const encoder = new TextEncoder();
		return this.log.append(
			stream,
			topic,
			partitionId,
			values.map((value) => ({
				payload:
					value instanceof Uint8Array
						? value
						: encoder.encode(typeof value === 'string' ? value : JSON.stringify(value)),
				headers: headers ?? JSON_HEADERS,
			})),
		);
	}

	async changes(topic = 'changes', partitionId = 0): Promise<Answer[]> {
		const records = await this.log.read('_agdx', topic, partitionId, 0n, 100_000);
		return records.map((record) => decodeCbor(record.payload));
	}
}

export function plainRows(reply: Answer): unknown[][] {
	return reply.Ok.rows.map((row: Answer) =>
		row.values.map((value: Answer) => (value.kind === 'null' ? null : value.value)),
	);
}

export function text(value: unknown): string {
	return JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? item.toString() : item));
}

export function queryOn(index: string, query: Record<string, unknown> = {}) {
	return {
		execution_id: new Uint8Array(randomBytes(16)),
		target: { kind: 'operational', index },
		deadline_micros: BigInt(Date.now() + 20_000) * 1000n,
		page: { limit: 50n, offset: 0n },
		select: { payload: false },
		...query,
	};
}

type HeaderValue = { kind: number; data: Uint8Array };

export function headerBlock(entries: Record<string, HeaderValue>): Uint8Array {
	const parts: Buffer[] = [];
	const field = (kind: number, data: Uint8Array) => {
		const head = Buffer.alloc(5);
		head[0] = kind;
		head.writeUInt32LE(data.length, 1);
		parts.push(head, Buffer.from(data));
	};
	for (const [key, value] of Object.entries(entries)) {
		field(2, Buffer.from(key));
		field(value.kind, value.data);
	}
	return new Uint8Array(Buffer.concat(parts));
}

export const uint8 = (n: number): HeaderValue => ({ kind: 9, data: Uint8Array.of(n) });
export const string = (s: string): HeaderValue => ({ kind: 2, data: new TextEncoder().encode(s) });
export const JSON_HEADERS = headerBlock({ 'agdx.ct': uint8(1) });
