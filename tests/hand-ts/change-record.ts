import { Reader } from './cbor.js';

export interface ChangeRecord {
	v: number;
	index: string;
	partitionId: number;
	fromOffset: bigint;
	toOffset: bigint;
	rows: number;
	stream?: string;
}

export interface DecodedChanges {
	records: ChangeRecord[];
	malformed: number;
	version: number;
}

/** One payload in any form that the contract allows. Throws Refused. */
export function decodeChangeRecord(payload: Uint8Array): ChangeRecord {
	const reader = new Reader(payload);
	const record: Partial<ChangeRecord> = {};
	let stream: string | null | undefined;
	for (let left = reader.map(); reader.more(left); left--) {
		const at = reader.at;
		const key = reader.text();
		const field = FIELDS.get(key);
		if (field === undefined) {
			reader.skip();
			continue;
		}
		if (field === 'stream' ? stream !== undefined : record[field] !== undefined)
			reader.fail('duplicate_key', at);
		switch (field) {
			case 'v':
			case 'partitionId':
			case 'rows':
				record[field] = reader.unsigned(0xffff_ffff);
				break;
			case 'fromOffset':
			case 'toOffset':
				record[field] = reader.u64();
				break;
			case 'index':
				record.index = reader.text();
				break;
			case 'stream':
				stream = reader.takeNull() ? null : reader.text();
		}
	}
	reader.expectEnd();
	for (const field of FIELDS.values())
		if (field !== 'stream' && record[field] === undefined) reader.fail('missing_field');
	const { v, index, partitionId, fromOffset, toOffset, rows } = record as ChangeRecord;
	return typeof stream === 'string'
		? { v, index, partitionId, fromOffset, toOffset, rows, stream }
		: { v, index, partitionId, fromOffset, toOffset, rows };
}

const FIELDS = new Map<string, keyof ChangeRecord>([
	['v', 'v'],
	['index', 'index'],
	['partition_id', 'partitionId'],
	['from_offset', 'fromOffset'],
	['to_offset', 'toOffset'],
	['rows', 'rows'],
	['stream', 'stream'],
]);

/** Payload i is bytes[starts[i], starts[i + 1]). What does not decode is skipped and counted, other versions too. */
export function decodeChangeRecords(bytes: Uint8Array, starts: Uint32Array): DecodedChanges {
	const fast = new FastDecoder(bytes);
	const count = starts.length - 1;
	const records: ChangeRecord[] = [];
	let malformed = 0;
	let version = 0;
	for (let i = 0; i < count; i++) {
		const from = starts[i]!;
		const to = starts[i + 1]!;
		let record = fast.record(from, to);
		if (record === undefined) {
			try {
				record = decodeChangeRecord(bytes.subarray(from, to));
			} catch {
				malformed++;
				continue;
			}
		}
		if (record.v === 1) records.push(record);
		else version++;
	}
	return { records, malformed, version };
}

const NAME_SLOTS = 256;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Recognizes the reference encoder's spelling by comparing words; says undefined to everything else. */
class FastDecoder {
	readonly #bytes: Uint8Array;
	readonly #view: DataView;
	// Names by a hash of their bytes: a feed has few, and a text is decoded once.
	readonly #names: ({ bytes: Uint8Array; text: string } | undefined)[] = new Array(NAME_SLOTS);
	#at = 0;

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
		this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	}

	record(from: number, to: number): ChangeRecord | undefined {
		const view = this.#view;
		// The shortest record; then every key below is checked to lie inside.
		if (to - from < 57) return undefined;
		const head = view.getUint32(from);
		if (head !== 0xa6617601 && head !== 0xa7617601) return undefined;
		if (view.getUint32(from + 4) !== 0x65696e64 || view.getUint16(from + 8) !== 0x6578) return undefined;
		this.#at = from + 10;
		const index = this.#name(to);
		// Everything that follows at its longest, without a stream.
		if (index === undefined || this.#at + 46 > to) return undefined;
		let at = this.#at;
		if (
			view.getUint32(at) !== 0x6c706172 ||
			view.getUint32(at + 4) !== 0x74697469 ||
			view.getUint32(at + 8) !== 0x6f6e5f69 ||
			this.#bytes[at + 12] !== 0x64
		)
			return undefined;
		this.#at = at + 13;
		const partitionId = this.#u32(to);
		at = this.#at;
		if (
			partitionId < 0 ||
			at + 12 > to ||
			view.getUint32(at) !== 0x6b66726f ||
			view.getUint32(at + 4) !== 0x6d5f6f66 ||
			view.getUint32(at + 8) !== 0x66736574
		)
			return undefined;
		this.#at = at + 12;
		const fromOffset = this.#u64(to);
		at = this.#at;
		if (
			fromOffset === undefined ||
			at + 10 > to ||
			view.getUint32(at) !== 0x69746f5f ||
			view.getUint32(at + 4) !== 0x6f666673 ||
			view.getUint16(at + 8) !== 0x6574
		)
			return undefined;
		this.#at = at + 10;
		const toOffset = this.#u64(to);
		at = this.#at;
		if (
			toOffset === undefined ||
			at + 5 > to ||
			view.getUint32(at) !== 0x64726f77 ||
			this.#bytes[at + 4] !== 0x73
		)
			return undefined;
		this.#at = at + 5;
		const rows = this.#u32(to);
		if (rows < 0) return undefined;
		if (head === 0xa6617601)
			return this.#at === to ? { v: 1, index, partitionId, fromOffset, toOffset, rows } : undefined;
		at = this.#at;
		if (
			at + 7 > to ||
			view.getUint32(at) !== 0x66737472 ||
			view.getUint16(at + 4) !== 0x6561 ||
			this.#bytes[at + 6] !== 0x6d
		)
			return undefined;
		this.#at = at + 7;
		const stream = this.#name(to);
		return stream !== undefined && this.#at === to
			? { v: 1, index, partitionId, fromOffset, toOffset, rows, stream }
			: undefined;
	}

	#name(end: number): string | undefined {
		const bytes = this.#bytes;
		let at = this.#at;
		let length = bytes[at++]!;
		if (length === 0x78) length = bytes[at++]!;
		else if (length >= 0x60 && length < 0x78) length -= 0x60;
		else return undefined;
		const to = at + length;
		if (to > end) return undefined;
		this.#at = to;
		if (length === 0) return '';
		const slot =
			(length * 31 + bytes[at]! * 7 + bytes[to - 1]! * 13 + bytes[at + (length >>> 1)]!) & (NAME_SLOTS - 1);
		const known = this.#names[slot];
		if (known !== undefined && known.bytes.length === length) {
			const other = known.bytes;
			let same = 0;
			while (same < length && other[same] === bytes[at + same]) same++;
			if (same === length) return known.text;
		}
		const own = bytes.slice(at, to);
		try {
			const text = decoder.decode(own);
			this.#names[slot] = { bytes: own, text };
			return text;
		} catch {
			return undefined;
		}
	}

	/** Negative when it is none. */
	#u32(end: number): number {
		const at = this.#at;
		if (at >= end) return -1;
		const initial = this.#bytes[at]!;
		if (initial < 24) {
			this.#at = at + 1;
			return initial;
		}
		if (initial > 0x1a) return -1;
		const size = 1 + (1 << (initial - 24));
		if (at + size > end) return -1;
		this.#at = at + size;
		if (initial === 0x18) return this.#bytes[at + 1]!;
		return initial === 0x19 ? this.#view.getUint16(at + 1) : this.#view.getUint32(at + 1);
	}

	#u64(end: number): bigint | undefined {
		const at = this.#at;
		if (this.#bytes[at] === 0x1b) {
			if (at + 9 > end) return undefined;
			this.#at = at + 9;
			return this.#view.getBigUint64(at + 1);
		}
		const small = this.#u32(end);
		return small < 0 ? undefined : BigInt(small);
	}
}
