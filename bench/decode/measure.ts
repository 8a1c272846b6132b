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

export interface Subject {
	readonly name: string;
	/** Does the whole task once; what it returns is kept alive until the clock was read. */
	readonly run: () => unknown;
}

export interface Rounds {
	/** Rounds before the clock counts: compilers settle. */
	warm: number;
	timed: number;
}

/**
 * Every subject once a round, in turn and each round beginning with another one: what the machine does beside it hits
 * all of them alike. The median of each, in milliseconds. Garbage is collected between turns where the runtime allows it, so
 * that nobody pays for what another one dropped.
 */
export function interleaved(subjects: readonly Subject[], rounds: Rounds): Map<string, Timing> {
	const times = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
	let kept: unknown;
	for (let round = -rounds.warm; round < rounds.timed; round++) {
		for (let turn = 0; turn < subjects.length; turn++) {
			const subject = subjects[(turn + round + rounds.warm) % subjects.length]!;
			kept = undefined;
			(globalThis as { gc?: (options: { type: 'minor' }) => void }).gc?.({ type: 'minor' });
			const start = performance.now();
			kept = subject.run();
			const took = performance.now() - start;
			if (kept === undefined) throw new Error(`${subject.name} made nothing`);
			if (round >= 0) times.get(subject.name)!.push(took);
		}
	}
	return new Map(Array.from(times, ([name, values]) => [name, timing(values)]));
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
