/** One line of a benchmark's result. */
export interface Result {
	bench: string;
	runtime: 'node' | 'chromium';
	subject: string;
	metric: string;
	/** The median of the rounds. */
	value: number;
	unit: string;
	/** The fastest round: on a busy machine medians flatter what fits between two turns of the scheduler, this does not. */
	best?: number;
	/** Lower and upper quartile of the rounds. */
	spread?: [number, number];
}

/** Of one subject's rounds, in milliseconds. */
export type Timing = Required<Pick<Result, 'value' | 'best' | 'spread'>>;

export type Subject = { readonly name: string } & (
	| {
			/** Does the whole task once; what it returns is kept alive until the clock was read. */
			readonly run: () => unknown;
	  }
	| {
			/** Does the task at least this many milliseconds long in a process of its own; resolves to those of one time. */
			readonly elsewhere: (least: number) => Promise<number>;
	  }
);

export interface Rounds {
	/** Turns before the clock counts: compilers settle. */
	warm: number;
	timed: number;
	/** Milliseconds that a turn lasts at least. */
	turn: number;
}

const ROUNDS: Rounds = { warm: 5, timed: 21, turn: 40 };

/**
 * Every subject has a turn a round, each round beginning with another one: what the machine does beside it hits all of them
 * alike. A turn repeats the task, first untimed for half as long, since caches and collectors are still busy with what the one
 * before left behind; then long enough to be timed well and to hold the garbage that the task itself makes. A turn counts as
 * the mean of its times, a subject as the median of its turns.
 */
export async function interleaved(
	subjects: readonly Subject[],
	rounds: Partial<Rounds> = {},
): Promise<Map<string, Timing>> {
	const { warm, timed, turn } = { ...ROUNDS, ...rounds };
	const times = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
	for (let round = -warm; round < timed; round++) {
		for (let at = 0; at < subjects.length; at++) {
			const subject = subjects[(at + round + warm) % subjects.length]!;
			const mean = 'run' in subject ? meanOf(subject) : subject.elsewhere;
			await mean(turn / 2);
			const took = await mean(turn);
			if (round >= 0) times.get(subject.name)!.push(took);
		}
	}
	return new Map(Array.from(times, ([name, values]) => [name, timing(values)]));
}

function meanOf({ name, run }: { name: string; run: () => unknown }): (least: number) => number {
	return (least) => {
		let kept: unknown;
		let count = 0;
		let took = 0;
		const start = performance.now();
		do {
			kept = run();
			count++;
			took = performance.now() - start;
		} while (took < least);
		if (kept === undefined) throw new Error(`${name} made nothing`);
		return took / count;
	};
}

function timing(values: number[]): Timing {
	const sorted = values.toSorted((a, b) => a - b);
	const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]!;
	return { value: at(0.5), best: at(0), spread: [at(0.25), at(0.75)] };
}

export function runtimeName(): Result['runtime'] {
	return typeof process === 'object' && process.versions?.node !== undefined ? 'node' : 'chromium';
}

/** Says on the console which bytes are decoded, apart from the results: equal hashes, equal work. */
export async function announce(bench: string, seed: number, parts: readonly Uint8Array[]): Promise<void> {
	const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.length;
	}
	const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
	const hash = Array.from(digest.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
	console.error(`${bench}: seed ${seed}, ${whole.length} bytes, sha-256 ${hash}…`);
}
