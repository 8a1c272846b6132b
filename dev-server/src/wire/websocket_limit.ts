/** Watches the raw bytes of a WebSocket for frames above a size; the library limits whole messages only. */
export class FrameLimit {
	readonly #max: number;
	#header: number[] = [];
	#skip = 0;
	#broken = false;

	constructor(max: number) {
		this.#max = max;
	}

	/** False once, at the first frame that is too large. */
	push(chunk: Buffer): boolean {
		let at = 0;
		while (at < chunk.length && !this.#broken) {
			if (this.#skip > 0) {
				const step = Math.min(this.#skip, chunk.length - at);
				this.#skip -= step;
				at += step;
				continue;
			}
			this.#header.push(chunk[at++]!);
			const length = this.#declared();
			if (length === undefined) continue;
			this.#header = [];
			if (length > this.#max) {
				this.#broken = true;
				return false;
			}
			this.#skip = length;
		}
		return true;
	}

	/** Payload length, once the whole frame header is there. */
	#declared(): number | undefined {
		const [, second] = this.#header;
		if (second === undefined) return undefined;
		const short = second & 0x7f;
		const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
		const mask = second & 0x80 ? 4 : 0;
		if (this.#header.length < 2 + extended + mask) return undefined;
		if (extended === 0) return short;
		return this.#header.slice(2, 2 + extended).reduce((sum, byte) => sum * 256 + byte, 0);
	}
}
