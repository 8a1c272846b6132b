import * as fs from 'node:fs';
import { join } from 'node:path';
import { batchBaseOffset, batchTimestamp, peekStored, verifyBatch } from './batch.js';
import { FileSegment, MemorySegment, type Segment } from './segment.js';

/** Makes and finds the segments of one partition. */
export interface SegmentFolder {
	/** Segments found from an earlier run, in order, with their indexes filled. */
	load(): Segment[];
	create(baseOffset: bigint): Segment;
	removeAll(): void;
}

export class MemoryFolder implements SegmentFolder {
	load(): Segment[] {
		return [];
	}

	create(baseOffset: bigint): Segment {
		return new MemorySegment(baseOffset);
	}

	removeAll(): void {}
}

const NAME = /^(\d{20})\.segment$/;

export class DiskFolder implements SegmentFolder {
	constructor(readonly path: string) {}

	load(): Segment[] {
		if (!fs.existsSync(this.path)) return [];
		const bases = fs
			.readdirSync(this.path)
			.map((name) => NAME.exec(name)?.[1])
			.filter((base) => base !== undefined)
			.sort()
			.map(BigInt);
		return bases.map((base, at) => {
			const segment = new FileSegment(base, this.#file(base));
			index(segment, at === bases.length - 1);
			return segment;
		});
	}

	create(baseOffset: bigint): Segment {
		fs.mkdirSync(this.path, { recursive: true, mode: 0o700 });
		const segment = new FileSegment(baseOffset, this.#file(baseOffset));
		segment.create();
		return segment;
	}

	removeAll(): void {
		fs.rmSync(this.path, { recursive: true, force: true });
	}

	#file(base: bigint): string {
		return join(this.path, `${base.toString().padStart(20, '0')}.segment`);
	}
}

/**
 * Reads a segment back. A process that was killed may leave half a batch at the end of the last one: it was never
 * acknowledged and is cut off. The same anywhere else is damage, and nobody may guess what was there.
 */
function index(segment: FileSegment, isLast: boolean): void {
	const bytes = segment.contents();
	let at = 0;
	let next = segment.baseOffset;
	while (at < bytes.length) {
		const head = peekStored(bytes, at);
		const batch = head && bytes.subarray(at, at + head.length);
		// Checksums matter only where a write can have been cut short; elsewhere they would make a start slow.
		const torn = isLast && batch !== undefined && verifyBatch(batch) !== undefined;
		if (!head || !batch || batchBaseOffset(batch) !== next || torn) {
			if (!isLast) throw new Error(`${segment.path} is damaged at byte ${at}`);
			segment.truncate(at);
			break;
		}
		segment.index.add(head.length, head.count, Number(batchTimestamp(batch)));
		next += BigInt(head.count);
		at += head.length;
	}
	segment.close();
}
