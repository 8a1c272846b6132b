import { frameSize, HEADER } from './frame.js';

/** Cuts a byte stream into frames. */
export class Splitter {
	#chunks: Buffer[] = [];
	#have = 0;
	#need = HEADER;
	#broken = false;

	constructor(
		readonly maxFrame: number,
		readonly emit: (frame: Buffer) => void,
	) {}

	/** Part of a frame is here, and the rest is not. */
	get midFrame(): boolean {
		return this.#have > 0;
	}

	/** False when the stream can no longer be read. */
	push(chunk: Buffer): boolean {
		if (this.#broken) return true;
		this.#chunks.push(chunk);
		this.#have += chunk.length;
		while (this.#have >= this.#need) {
			const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
			const size = frameSize(bytes);
			if (size < HEADER || size > this.maxFrame) {
				this.#broken = true;
				this.#chunks = [];
				return false;
			}
			this.#need = size;
			if (bytes.length < size) {
				this.#chunks = [bytes];
				return true;
			}
			this.emit(bytes.subarray(0, size));
			const rest = bytes.subarray(size);
			this.#chunks = rest.length > 0 ? [rest] : [];
			this.#have = rest.length;
			this.#need = HEADER;
		}
		return true;
	}
}
