import { type Abortable, signalOf } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { InvalidError } from '../errors/index.js';

/**
 * For every partition of a topic, the first offset appended at or after a time (µs since 1970); the end of the
 * partition where there is none.
 */
export async function offsetsForTime(
	context: Context,
	place: { stream: string; topic: string },
	micros: bigint,
	given: Abortable,
): Promise<ReadonlyMap<number, bigint>> {
	if (typeof micros !== 'bigint' || micros < 0n || micros >= 2n ** 64n) {
		throw new InvalidError('offsetForTime: microseconds since 1970, as a bigint', { rule: 'argument' });
	}
	const doing = { surface: 'topic', operation: 'offsetForTime', ...place };
	const pairs = await context.driver.run<Iterable<[number, bigint]>>(doing, signalOf(given), (core, now) =>
		core.offsetForTime(place.stream, place.topic, micros, now),
	);
	return new Map(pairs);
}
