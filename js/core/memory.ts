/**
 * Views of wasm memory. Memory may grow, and its old buffer is then detached, in every call into the module:
 * so a view is fetched anew after each call, used at once and never kept.
 */
export class Memory {
	readonly #memory: WebAssembly.Memory;
	#buffer: ArrayBuffer;
	#bytes: Uint8Array;
	#words: Uint32Array;

	constructor(memory: WebAssembly.Memory) {
		this.#memory = memory;
		this.#buffer = memory.buffer as ArrayBuffer;
		this.#bytes = new Uint8Array(this.#buffer);
		this.#words = new Uint32Array(this.#buffer);
	}

	/** The whole memory as it is now. */
	bytes(): Uint8Array {
		this.#refresh();
		return this.#bytes;
	}

	words(): Uint32Array {
		this.#refresh();
		return this.#words;
	}

	/** Memory only grows, and each growth is a new buffer. */
	size(): number {
		return this.#memory.buffer.byteLength;
	}

	write(address: number, source: Uint8Array): void {
		this.bytes().set(source, address);
	}

	/** A copy that the caller owns. */
	copy(address: number, length: number): Uint8Array<ArrayBuffer> {
		return new Uint8Array(this.#current().slice(address, address + length));
	}

	#current(): ArrayBuffer {
		this.#refresh();
		return this.#buffer;
	}

	#refresh(): void {
		if (this.#memory.buffer === this.#buffer) return;
		this.#buffer = this.#memory.buffer as ArrayBuffer;
		this.#bytes = new Uint8Array(this.#buffer);
		this.#words = new Uint32Array(this.#buffer);
	}
}

/** Columns where they lie in wasm memory: good until the next call into the module. */
export class ViewedColumns {
	readonly #buffer: ArrayBuffer;

	constructor(buffer: ArrayBuffer) {
		this.#buffer = buffer;
	}

	u64(address: number, count: number): BigUint64Array<ArrayBuffer> {
		return new BigUint64Array(this.#buffer, count === 0 ? 0 : address, count);
	}

	u32(address: number, count: number): Uint32Array<ArrayBuffer> {
		return new Uint32Array(this.#buffer, count === 0 ? 0 : address, count);
	}
}

/**
 * Copies columns out of wasm memory into one buffer of exactly the size that they need together: one allocation a
 * batch, where a `slice` per column costs more than decoding it. Take 8-byte columns first, then 4-byte ones, then
 * bytes, so that every view is aligned.
 */
export class OwnedColumns {
	readonly #heap: Uint8Array;
	readonly #target: Uint8Array<ArrayBuffer>;
	#used = 0;

	constructor(heap: Uint8Array, totalBytes: number) {
		this.#heap = heap;
		this.#target = new Uint8Array(totalBytes);
	}

	u64(address: number, count: number): BigUint64Array<ArrayBuffer> {
		return new BigUint64Array(this.#target.buffer, this.#copy(address, count * 8), count);
	}

	u32(address: number, count: number): Uint32Array<ArrayBuffer> {
		return new Uint32Array(this.#target.buffer, this.#copy(address, count * 4), count);
	}

	bytes(address: number, length: number): Uint8Array<ArrayBuffer> {
		return new Uint8Array(this.#target.buffer, this.#copy(address, length), length);
	}

	#copy(address: number, length: number): number {
		const start = this.#used;
		this.#target.set(this.#heap.subarray(address, address + length), start);
		this.#used += length;
		return start;
	}
}
