import { BATCH_HEADER, batchCount, framesThatFit, sliceBatch } from './batch.js';
import type { Segment } from './segment.js';

/** Collects stored batches over segments until enough records or bytes are there. */
export class RangeRead {
	readonly #headroom: number;
	readonly #pieces: Buffer[] = [];
	#left: number;
	#room: number;
	/** The first piece was made with the headroom in front. */
	#headed = false;
	#stopped = false;
	count = 0;

	constructor(count: number, maxBytes: number, headroom: number) {
		this.#left = count;
		this.#room = maxBytes;
		this.#headroom = headroom;
	}

	get full(): boolean {
		return this.#stopped || this.#left === 0;
	}

	/** Reads on from a record of the segment, by its offset from the segment's base. Gives the records taken. */
	readSegment(segment: Segment, relative: number): number {
		const { index } = segment;
		const before = this.count;
		let batch = index.find(relative);
		if (relative > index.relativeOffset(batch)) {
			this.#cut(segment, batch, relative - index.relativeOffset(batch));
			batch++;
		}
		if (!this.full) batch = this.#whole(segment, batch);
		if (!this.full && batch < index.batches) this.#cut(segment, batch, 0);
		return this.count - before;
	}

	bytes(): Buffer {
		if (this.#headed && this.#pieces.length === 1) return this.#pieces[0]!;
		if (this.#headed) return Buffer.concat(this.#pieces);
		return Buffer.concat([Buffer.allocUnsafe(this.#headroom), ...this.#pieces]);
	}

	/** Whole batches travel as they are stored: one read for the run. Gives the batch behind it. */
	#whole(segment: Segment, batch: number): number {
		const { index } = segment;
		const start = index.position(batch);
		const lastRecord = index.relativeOffset(batch) + this.#left;
		let stop = batch;
		while (
			stop < index.batches &&
			index.relativeOffset(stop + 1) <= lastRecord &&
			index.position(stop + 1) - start <= this.#room
		) {
			stop++;
		}
		if (stop === batch) return stop;
		const length = index.position(stop) - start;
		const headroom = this.#pieces.length === 0 ? this.#headroom : 0;
		if (headroom > 0) this.#headed = true;
		const bytes = Buffer.allocUnsafe(headroom + length);
		segment.read(start, length, bytes, headroom);
		this.#took(bytes, length, index.relativeOffset(stop) - index.relativeOffset(batch));
		return stop;
	}

	/** Part of one batch: what was asked and fits. The first message of a read comes even if it is too large. */
	#cut(segment: Segment, which: number, skip: number): void {
		const { index } = segment;
		const length = index.position(which + 1) - index.position(which);
		const batch = Buffer.allocUnsafe(length);
		segment.read(index.position(which), length, batch, 0);
		const rest = batchCount(batch) - skip;
		const wanted = Math.min(this.#left, rest);
		const fitting = this.#room < BATCH_HEADER ? 1 : framesThatFit(batch, skip, wanted, this.#room);
		const piece = sliceBatch(batch, skip, fitting);
		if (fitting < rest) this.#stopped = true;
		if (piece.length > this.#room && this.#pieces.length > 0) this.#stopped = true;
		else this.#took(piece, piece.length, fitting);
	}

	#took(piece: Buffer, length: number, records: number): void {
		this.#pieces.push(piece);
		this.#room = Math.max(0, this.#room - length);
		this.#left -= records;
		this.count += records;
	}
}
