import { type Abortable, signalOf } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import type { PublishRecord } from '../core/contract.js';
import { InvalidError } from '../errors/index.js';
import { encodeJson } from './json.js';
import { encodeMsgpack } from './msgpack.js';

/** Names of the contract, or the number of one that is newer. */
export type ContentType =
	| 'raw'
	| 'json'
	| 'msgpack'
	| 'cbor'
	| 'bson'
	| 'avro'
	| 'protobuf'
	| 'arrow'
	| 'ref'
	| 'any'
	| number;

/** Turns values into bytes, for formats that are not built in. */
export interface Codec<T> {
	readonly contentType?: ContentType;
	encode(value: T): Uint8Array;
}

export interface Confirmation {
	readonly streamId: number;
	readonly topicId: number;
	readonly partitionId: number;
	/** Offset of the first record of the request. */
	readonly baseOffset: bigint;
}

export interface SendMessagesResponse {
	/** Empty where the server recognised a repeat, or confirmed without saying where. */
	readonly confirmations: readonly Confirmation[];
}

const encoder = new TextEncoder();
const MAX_PARTITION = 2 ** 32 - 1;

/** What one record and a batch of them have in common: where to, and with which headers. Rules are checked by `send`. */
abstract class Publication {
	readonly #context: Context;
	readonly #stream: string;
	readonly #topic: string;
	readonly #indexes: [string, string][] = [];
	readonly #headers: [string, string][] = [];
	#shared: Partial<PublishRecord> = {};
	#partitionKey: Uint8Array | undefined;
	#partitionId: number | undefined;

	constructor(context: Context, stream: string, topic: string) {
		this.#context = context;
		this.#stream = stream;
		this.#topic = topic;
	}

	/** What the payload is. Overrides what the body's setter assumes. */
	contentType(contentType: ContentType): this {
		this.#shared = { ...this.#shared, contentType };
		return this;
	}

	/** The projection to use, if not the binding's default. */
	projectionRef(id: string): this {
		this.#shared = { ...this.#shared, projectionRef: this.#context.resourceName(id) };
		return this;
	}

	/** The writer's schema, for formats that need one. */
	schemaId(id: number): this {
		this.#shared = { ...this.#shared, schemaId: id };
		return this;
	}

	/** SHA-256 of an Arrow schema: required for Arrow, not allowed otherwise. */
	schemaFingerprint(fingerprint: Uint8Array): this {
		this.#shared = { ...this.#shared, schemaFingerprint: fingerprint };
		return this;
	}

	/** A value to index, instead of what the projection would extract. */
	index(key: string, value: string): this {
		this.#indexes.push([key, value]);
		return this;
	}

	header(key: string, value: string): this {
		this.#headers.push([key, value]);
		return this;
	}

	/** Has the payload kept in the index, so that queries can return it. */
	inlinePayload(): this {
		this.#shared = { ...this.#shared, inlinePayload: true };
		return this;
	}

	/** Records of one key go to one partition. */
	partitionKey(key: string | Uint8Array): this {
		this.#partitionKey = typeof key === 'string' ? encoder.encode(key) : key;
		return this;
	}

	partition(id: number): this {
		this.#partitionId = id;
		return this;
	}

	/**
	 * Publishes, at least once: what is known not to be stored is repeated.
	 *
	 * @throws {InvalidError} no body, or a rule for headers is broken; nothing was sent
	 * @throws {PublishFailedError} retries are exhausted: how many are stored, and how many may be
	 */
	async send(given?: Abortable): Promise<SendMessagesResponse> {
		const bodies = this.bodies();
		checkPlacement(this.#partitionId, this.#partitionKey);
		const records = bodies.map((body) => ({
			...body,
			...this.#shared,
			...(this.#indexes.length === 0 ? {} : { indexes: this.#indexes }),
			...(this.#headers.length === 0 ? {} : { headers: this.#headers }),
		}));
		const { timeoutMs, maxRetries, retryBackoffMs } = this.#context.link.settings.publish;
		const place = { stream: this.#stream, topic: this.#topic };
		const doing = { surface: 'publish', operation: 'publish', ...place };
		const answer = await this.#context.driver.run<Partial<SendMessagesResponse> | null>(
			doing,
			signalOf(given),
			(core, now) =>
				core.publish(
					{
						...place,
						records,
						...(this.#partitionKey === undefined ? {} : { partitionKey: this.#partitionKey }),
						...(this.#partitionId === undefined ? {} : { partitionId: this.#partitionId }),
						...(timeoutMs === undefined ? {} : { timeoutMs }),
						...(maxRetries === undefined ? {} : { maxRetries }),
						...(retryBackoffMs === undefined ? {} : { retryBackoffMs }),
					},
					now,
				),
		);
		return { confirmations: answer?.confirmations ?? [] };
	}

	protected abstract bodies(): readonly PublishRecord[];
}

/** One record. */
export class PublishRequest extends Publication {
	#body: PublishRecord | undefined;

	/** JSON, in UTF-8. A bigint is written as a number with all its digits. */
	json(value: unknown): this {
		this.#body = { payload: encodeJson(value), contentType: 'json' };
		return this;
	}

	msgpack(value: unknown): this {
		this.#body = { payload: encodeMsgpack(value), contentType: 'msgpack' };
		return this;
	}

	/** Bytes of no declared type. */
	payload(bytes: Uint8Array): this {
		this.#body = { payload: bytes };
		return this;
	}

	rawBytes(bytes: Uint8Array, contentType: ContentType): this {
		this.#body = { payload: bytes, contentType };
		return this;
	}

	encodeWith<T>(value: T, codec: Codec<T>): this {
		this.#body = encoded(value, codec);
		return this;
	}

	protected bodies(): readonly PublishRecord[] {
		if (this.#body === undefined) {
			throw new InvalidError('publish: there is no body', { rule: 'publish_body' });
		}
		return [this.#body];
	}
}

/** Many records, sent in few requests, in order. Setters are for all of them. */
export class PublishBatchRequest extends Publication {
	readonly #bodies: PublishRecord[] = [];

	addJson(value: unknown): this {
		this.#bodies.push({ payload: encodeJson(value), contentType: 'json' });
		return this;
	}

	addMsgpack(value: unknown): this {
		this.#bodies.push({ payload: encodeMsgpack(value), contentType: 'msgpack' });
		return this;
	}

	addPayload(bytes: Uint8Array): this {
		this.#bodies.push({ payload: bytes });
		return this;
	}

	addRawBytes(bytes: Uint8Array, contentType: ContentType): this {
		this.#bodies.push({ payload: bytes, contentType });
		return this;
	}

	addEncoded<T>(value: T, codec: Codec<T>): this {
		this.#bodies.push(encoded(value, codec));
		return this;
	}

	protected bodies(): readonly PublishRecord[] {
		if (this.#bodies.length === 0) {
			throw new InvalidError('publish: the batch is empty', { rule: 'publish_body' });
		}
		return this.#bodies;
	}
}

function checkPlacement(id: unknown, key: unknown): void {
	const refuse = (why: string, field: string): never => {
		throw new InvalidError(`publish: ${why}`, { rule: 'partitioning', field });
	};
	if (id !== undefined && !(Number.isInteger(id) && (id as number) >= 0 && (id as number) <= MAX_PARTITION)) {
		refuse('the partition is not a whole number of 32 bits', 'partition_id');
	}
	if (key !== undefined && !(key instanceof Uint8Array))
		refuse('the key is not text or bytes', 'partition_key');
	if (id !== undefined && key !== undefined) refuse('a partition or a key, not both', 'partition_key');
}

function encoded<T>(value: T, codec: Codec<T>): PublishRecord {
	if (typeof codec?.encode !== 'function') {
		throw new InvalidError('publish: a codec has encode()', { rule: 'publish_body' });
	}
	const payload = codec.encode(value);
	return codec.contentType === undefined ? { payload } : { payload, contentType: codec.contentType };
}
