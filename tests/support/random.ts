/** A seeded generator (mulberry32): a run that failed can be run again. */
export class SeededRandom {
	constructor(private state: number) {}

	/** Uniform in [0, 1). */
	next(): number {
		this.state = (this.state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	}
	below(bound: number): number {
		return Math.floor(this.next() * bound);
	}
}
