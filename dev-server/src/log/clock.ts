/** Microseconds since the epoch that never repeat: creation times tell a recreated topic from the old one. */
export class Clock {
	#last = 0;

	now(): bigint {
		const wall = Date.now() * 1000;
		this.#last = wall > this.#last ? wall : this.#last + 1;
		return BigInt(this.#last);
	}

	/** Continues after a time that was read back from storage. */
	startAfter(micros: bigint): void {
		const value = Number(micros);
		if (value > this.#last) this.#last = value;
	}
}
