import type { Partition } from '../log/partition.js';
import { Refusal, Status } from './codes.js';
import type { Framed } from './framed.js';

/** One look at what a waiting read would get. */
export interface Look {
	/** Enough is there, or no more fits. */
	satisfied: boolean;
	/** What to watch while it is not. */
	partitions: Partition[];
	/** Makes the reply from this look. */
	finish(): Framed;
}

/** Reads that the whole server may keep waiting at once. */
export class ParkingSpace {
	#taken = 0;

	constructor(readonly limit: number) {}

	take(): boolean {
		if (this.#taken >= this.limit) return false;
		this.#taken++;
		return true;
	}

	give(): void {
		this.#taken--;
	}

	get taken(): number {
		return this.#taken;
	}
}

interface Parked {
	/** Answers with whatever is there now. */
	answer(): void;
	/** Refuses it, or leaves it without an answer. */
	end(refusal: Refusal | undefined): void;
}

/** The reads of one connection that wait for records. They do not hold up the requests behind them. */
export class ParkedReads {
	readonly #space: ParkingSpace;
	readonly #parked = new Map<bigint, Parked>();

	constructor(space: ParkingSpace) {
		this.#space = space;
	}

	/** Answers at once, or when enough is there, or when the wait is over or was cancelled. */
	read(request: bigint, waitMicros: bigint, look: () => Look): Framed | Promise<Framed | undefined> {
		const first = look();
		if (first.satisfied || waitMicros === 0n) return first.finish();
		if (this.#parked.has(request)) throw new Refusal(Status.invalidCommand);
		if (!this.#space.take()) throw new Refusal(Status.deferredCapacity);
		return new Promise((done, fail) => {
			let unwatch: (() => void)[] = [];
			let looking = false;
			const settle = (outcome: () => Framed | undefined): void => {
				if (this.#parked.get(request) !== parked) return;
				this.#parked.delete(request);
				this.#space.give();
				clearTimeout(timer);
				for (const stop of unwatch) stop();
				try {
					done(outcome());
				} catch (error) {
					fail(error);
				}
			};
			const watch = (partitions: Partition[]): void => {
				for (const stop of unwatch) stop();
				unwatch = partitions.map((partition) => partition.watch(wake));
			};
			const lookAgain = (last: boolean): void => {
				try {
					const next = look();
					if (last || next.satisfied) settle(() => next.finish());
					else watch(next.partitions);
				} catch (error) {
					settle(() => {
						throw error;
					});
				}
			};
			// Appends that follow one another closely are looked at once.
			const wake = (): void => {
				if (looking) return;
				looking = true;
				setImmediate(() => {
					looking = false;
					if (this.#parked.get(request) === parked) lookAgain(false);
				});
			};
			const parked: Parked = {
				answer: () => lookAgain(true),
				end: (refusal) =>
					settle(() => {
						if (refusal) throw refusal;
						return undefined;
					}),
			};
			const timer = setTimeout(() => lookAgain(true), Number(waitMicros) / 1000);
			this.#parked.set(request, parked);
			watch(first.partitions);
		});
	}

	cancel(request: bigint): void {
		this.#parked.get(request)?.answer();
	}

	/** The session is gone: every read is refused, or left alone when nobody listens any more. */
	end(refusal?: Refusal): void {
		for (const parked of [...this.#parked.values()]) parked.end(refusal);
	}
}
