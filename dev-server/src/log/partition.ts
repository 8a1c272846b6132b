import { batchCount, stampBatch } from './batch.js';
import { RangeRead } from './range_read.js';
import type { Segment } from './segment.js';
import type { SegmentFolder } from './segment_folder.js';

const LAST_OFFSET = 0xffff_ffff_ffff_ffffn;

export interface PartitionOptions {
	id: number;
	createdAt: bigint;
	/** Offset of the first record it will ever hold. */
	firstOffset: bigint;
	/** First offset still wanted, from earlier trims. */
	start: bigint;
	segmentBytes: number;
	fsync: boolean;
}

export interface Read {
	/** Stored batches back to back, cut at both ends to what was asked. */
	bytes: Buffer;
	count: number;
	/** Offset of the last record in `bytes`; undefined when there is none. */
	last: bigint | undefined;
}

/** One partition: an ordered history of batches, kept as the bytes that polls hand out. */
export class Partition {
	readonly id: number;
	readonly createdAt: bigint;
	readonly #folder: SegmentFolder;
	readonly #options: PartitionOptions;
	#segments: Segment[];
	#start: bigint;
	#end: bigint;
	#lastMicros = 0;
	readonly #waiting = new Set<() => void>();

	constructor(folder: SegmentFolder, options: PartitionOptions) {
		this.id = options.id;
		this.createdAt = options.createdAt;
		this.#folder = folder;
		this.#options = options;
		this.#segments = folder.load();
		const first = this.#segments[0]?.baseOffset ?? options.firstOffset;
		this.#start = later(options.start, first);
		this.#end = this.#start;
		const last = this.#segments.at(-1);
		if (last) {
			const end = last.baseOffset + BigInt(last.index.records);
			this.#end = later(this.#end, end);
			if (last.index.batches > 0) this.#lastMicros = last.index.micros(last.index.batches - 1);
		}
	}

	/** Next offset to be written. */
	get end(): bigint {
		return this.#end;
	}

	/** First offset still retained. */
	get start(): bigint {
		return this.#start;
	}

	/** Last committed offset as the wire reports it: 0 for a partition that never held a record. */
	get current(): bigint {
		return this.#end > this.#options.firstOffset ? this.#end - 1n : 0n;
	}

	get messages(): bigint {
		return this.#end - this.#start;
	}

	get segments(): number {
		return Math.max(1, this.#segments.length);
	}

	get bytes(): number {
		let sum = 0;
		for (const segment of this.#segments) sum += segment.index.bytes;
		return sum;
	}

	get hasRoom(): boolean {
		return this.#end <= LAST_OFFSET;
	}

	/** Stamps and stores a verified batch, in place; it is on disk when this returns. Gives its base offset. */
	append(batch: Buffer, nowMicros: bigint): bigint {
		const count = batchCount(batch);
		const base = this.#end;
		if (base + BigInt(count) - 1n > LAST_OFFSET) throw new RangeError('offsets of the partition are used up');
		const micros = Math.max(Number(nowMicros), this.#lastMicros);
		stampBatch(batch, { partitionId: this.id, baseOffset: base, timestampMicros: BigInt(micros) });
		const segment = this.#writable(batch.length);
		segment.append(batch, count, micros);
		if (this.#options.fsync) segment.sync();
		this.#lastMicros = micros;
		this.#end = base + BigInt(count);
		this.#wake();
		return base;
	}

	/**
	 * Reads up to `count` records from `from`, or from the retained start when that is later, within `maxBytes`.
	 * `bytes` begins with `headroom` unused bytes for the caller's own header, so that the records are copied once.
	 */
	read(from: bigint, count: number, maxBytes: number, headroom = 0): Read {
		const first = later(from, this.#start);
		const range = new RangeRead(count, maxBytes, headroom);
		let at = first;
		for (let which = this.#segmentOf(first); which < this.#segments.length && !range.full; which++) {
			const segment = this.#segments[which]!;
			if (at >= segment.baseOffset + BigInt(segment.index.records)) continue;
			at += BigInt(range.readSegment(segment, Number(at - segment.baseOffset)));
		}
		return { bytes: range.bytes(), count: range.count, last: range.count > 0 ? at - 1n : undefined };
	}

	/** First offset of the first batch appended at or after a time; the end when there is none. */
	offsetAt(micros: bigint): bigint {
		const wanted = Number(micros);
		for (const segment of this.#segments) {
			const batch = segment.index.findTime(wanted);
			if (batch < segment.index.batches) {
				const offset = segment.baseOffset + BigInt(segment.index.relativeOffset(batch));
				return offset < this.#start ? this.#start : offset;
			}
		}
		return this.#end;
	}

	/** Append time and offset behind the oldest retained batch: what retention would drop first. */
	oldest(): { micros: number; nextOffset: bigint; bytes: number } | undefined {
		if (this.#start >= this.#end) return undefined;
		const segment = this.#segments[this.#segmentOf(this.#start)];
		if (!segment) return undefined;
		const batch = segment.index.find(Number(this.#start - segment.baseOffset));
		return {
			micros: segment.index.micros(batch),
			nextOffset: segment.baseOffset + BigInt(segment.index.relativeOffset(batch + 1)),
			bytes: segment.index.position(batch + 1) - segment.index.position(batch),
		};
	}

	/** Bytes of the retained batches, whole. */
	get retainedBytes(): number {
		let sum = this.bytes;
		const segment = this.#segments[this.#segmentOf(this.#start)];
		if (segment && this.#start > segment.baseOffset) {
			sum -= segment.index.position(segment.index.find(Number(this.#start - segment.baseOffset)));
		}
		return sum;
	}

	/** Moves the retained start; the caller has recorded it. Segments that hold nothing wanted go away. */
	trim(before: bigint): void {
		this.#start = before < this.#start ? this.#start : before > this.#end ? this.#end : before;
		// The end must outlive its records, so an empty segment marks it before the last full one goes.
		if (this.#start === this.#end && this.#segments.length > 0) this.#roll();
		while (this.#segments.length > 1 && this.#segments[1]!.baseOffset <= this.#start) {
			this.#segments.shift()!.remove();
		}
	}

	close(): void {
		for (const segment of this.#segments) {
			segment.sync();
			segment.close();
		}
	}

	remove(): void {
		for (const segment of this.#segments) segment.close();
		this.#segments = [];
		this.#folder.removeAll();
		this.#wake();
	}

	/** Calls `wake` after every append and once the partition is removed, until the returned function is called. */
	watch(wake: () => void): () => void {
		this.#waiting.add(wake);
		return () => this.#waiting.delete(wake);
	}

	#wake(): void {
		for (const wake of this.#waiting) wake();
	}

	#writable(length: number): Segment {
		const last = this.#segments.at(-1);
		if (last && (last.index.bytes === 0 || last.index.bytes + length <= this.#options.segmentBytes))
			return last;
		return this.#roll();
	}

	#roll(): Segment {
		const last = this.#segments.at(-1);
		if (last && last.index.records === 0 && last.baseOffset === this.#end) return last;
		last?.sync();
		const segment = this.#folder.create(this.#end);
		this.#segments.push(segment);
		return segment;
	}

	#segmentOf(offset: bigint): number {
		let low = 0;
		let high = this.#segments.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#segments[middle]!.baseOffset <= offset) low = middle + 1;
			else high = middle;
		}
		return Math.max(0, low - 1);
	}
}

function later(one: bigint, other: bigint): bigint {
	if (one > other) return one;
	return other;
}
