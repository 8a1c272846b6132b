import * as fs from 'node:fs';

/** Where each batch of a segment starts, in columns that grow: offsets are relative to the segment's base. */
export class SegmentIndex {
	#offsets = new Float64Array(16);
	#times = new Float64Array(16);
	#positions = new Float64Array(17);
	batches = 0;
	/** Records in the segment. */
	records = 0;

	get bytes(): number {
		return this.#positions[this.batches]!;
	}

	add(length: number, count: number, micros: number): void {
		if (this.batches === this.#offsets.length) this.#grow();
		const at = this.batches++;
		this.#offsets[at] = this.records;
		this.#times[at] = micros;
		this.#positions[at + 1] = this.#positions[at]! + length;
		this.records += count;
	}

	relativeOffset(batch: number): number {
		return batch < this.batches ? this.#offsets[batch]! : this.records;
	}

	position(batch: number): number {
		return this.#positions[batch]!;
	}

	micros(batch: number): number {
		return this.#times[batch]!;
	}

	/** The batch that contains a relative offset; `batches` when it lies behind the end. */
	find(relative: number): number {
		if (relative >= this.records) return this.batches;
		let low = 0;
		let high = this.batches - 1;
		while (low < high) {
			const middle = (low + high + 1) >>> 1;
			if (this.#offsets[middle]! <= relative) low = middle;
			else high = middle - 1;
		}
		return low;
	}

	/** The first batch appended at or after a time; `batches` when there is none. */
	findTime(micros: number): number {
		let low = 0;
		let high = this.batches;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#times[middle]! < micros) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	#grow(): void {
		const size = this.#offsets.length * 2;
		const copy = (from: Float64Array, length: number) => {
			const to = new Float64Array(length);
			to.set(from);
			return to;
		};
		this.#offsets = copy(this.#offsets, size);
		this.#times = copy(this.#times, size);
		this.#positions = copy(this.#positions, size + 1);
	}
}

/** A run of stored batches, appended at the end and read anywhere. */
export interface Segment {
	readonly baseOffset: bigint;
	readonly index: SegmentIndex;
	append(batch: Buffer, count: number, micros: number): void;
	/** Copies `length` bytes from `position` into `target`. */
	read(position: number, length: number, target: Buffer, targetAt: number): void;
	sync(): void;
	close(): void;
	remove(): void;
}

export class MemorySegment implements Segment {
	readonly index = new SegmentIndex();
	#bytes = Buffer.alloc(0);

	constructor(readonly baseOffset: bigint) {}

	append(batch: Buffer, count: number, micros: number): void {
		const used = this.index.bytes;
		if (used + batch.length > this.#bytes.length) {
			const grown = Buffer.allocUnsafeSlow(Math.max(used + batch.length, this.#bytes.length * 2, 4096));
			this.#bytes.copy(grown, 0, 0, used);
			this.#bytes = grown;
		}
		batch.copy(this.#bytes, used);
		this.index.add(batch.length, count, micros);
	}

	read(position: number, length: number, target: Buffer, targetAt: number): void {
		this.#bytes.copy(target, targetAt, position, position + length);
	}

	sync(): void {}

	close(): void {}

	remove(): void {
		this.#bytes = Buffer.alloc(0);
	}
}

export class FileSegment implements Segment {
	readonly index = new SegmentIndex();
	#file: number | undefined;

	constructor(
		readonly baseOffset: bigint,
		readonly path: string,
	) {}

	/** Opened when first needed: a data folder may hold more segments than the process may hold open. */
	#open(): number {
		this.#file ??= fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
		return this.#file;
	}

	/** Makes the file now: its name keeps the end of a partition that holds nothing. */
	create(): void {
		this.#open();
	}

	append(batch: Buffer, count: number, micros: number): void {
		const file = this.#open();
		const start = this.index.bytes;
		let written = 0;
		while (written < batch.length) {
			// A write that fails leaves bytes behind the indexed end: the next append overwrites them.
			written += fs.writeSync(file, batch, written, batch.length - written, start + written);
		}
		this.index.add(batch.length, count, micros);
	}

	read(position: number, length: number, target: Buffer, targetAt: number): void {
		const file = this.#open();
		let done = 0;
		while (done < length) {
			const got = fs.readSync(file, target, targetAt + done, length - done, position + done);
			if (got === 0) throw new Error(`${this.path} is shorter than its index`);
			done += got;
		}
	}

	contents(): Buffer {
		return fs.readFileSync(this.path);
	}

	truncate(length: number): void {
		fs.ftruncateSync(this.#open(), length);
	}

	sync(): void {
		if (this.#file !== undefined) fs.fdatasyncSync(this.#file);
	}

	close(): void {
		if (this.#file !== undefined) fs.closeSync(this.#file);
		this.#file = undefined;
	}

	remove(): void {
		this.close();
		fs.rmSync(this.path, { force: true });
	}
}
