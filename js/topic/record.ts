import type { RecordColumns } from '../core/contract.js';
import { CodecError } from '../errors/index.js';
import { type HeaderValue, readHeaders } from './headers.js';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** One record of a topic. `value` is what the reader's schema made of it, and undefined without a schema. */
export class TopicRecord<T = unknown> {
	readonly partitionId: number;
	readonly offset: bigint;
	/** When the server appended it, µs since 1970. */
	readonly timestampMicros: bigint;
	/** When the producer made it, µs since 1970. */
	readonly originTimestampMicros: bigint;
	/** The producer's 128-bit message id. */
	readonly id: bigint;
	readonly payload: Uint8Array;
	/** The header block as it was sent. */
	readonly rawHeaders: Uint8Array;
	readonly value: T;
	#headers: ReadonlyMap<string, HeaderValue> | undefined;

	/** @internal */
	constructor(columns: RecordColumns, index: number, value: T) {
		const start = columns.payloadStart[index]!;
		const middle = columns.headersStart[index]!;
		const end = columns.payloadStart[index + 1]!;
		this.partitionId = columns.partitionId[index]!;
		this.offset = columns.offset[index]!;
		this.timestampMicros = columns.timestampMicros[index]!;
		this.originTimestampMicros = columns.originTimestampMicros[index]!;
		this.id = readId(columns.id, index);
		this.payload = columns.bytes.subarray(start, middle);
		this.rawHeaders = columns.bytes.subarray(middle, end);
		this.value = value;
	}

	/** Typed headers with text names. What cannot be read is left out. */
	get headers(): ReadonlyMap<string, HeaderValue> {
		this.#headers ??= readHeaders(this.rawHeaders);
		return this.#headers;
	}

	/** @throws {CodecError} the payload is not UTF-8 */
	text(): string {
		return decodeText(this);
	}

	/**
	 * The payload read by JSON.parse: integers above 2^53 lose digits there; read `text()` with a parser of your own to
	 * keep them.
	 *
	 * @throws {CodecError} the payload is not JSON
	 */
	json<J = unknown>(): J {
		return decodeJson(this) as J;
	}
}

type Located = Pick<TopicRecord, 'partitionId' | 'offset' | 'payload'>;

export function decodeText(record: Located): string {
	try {
		return decoder.decode(record.payload);
	} catch (cause) {
		throw unreadable(record, 'UTF-8', cause);
	}
}

export function decodeJson(record: Located): unknown {
	const text = decodeText(record);
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw unreadable(record, 'JSON', cause);
	}
}

/** The cause is left out of the message: engines quote the payload in it. */
function unreadable({ partitionId, offset }: Located, what: string, cause: unknown): CodecError {
	return new CodecError(
		`record ${partitionId}:${offset}: not ${what}`,
		{ surface: 'topic', operation: 'read' },
		{ cause },
	);
}

function readId(ids: Uint8Array, index: number): bigint {
	const view = new DataView(ids.buffer, ids.byteOffset + index * 16, 16);
	return (view.getBigUint64(8, true) << 64n) | view.getBigUint64(0, true);
}
