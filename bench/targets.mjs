// What `npm run bench -- --check` holds results against.
import { SLACK } from './drain/heap.mjs';
import { ratio } from './report.mjs';
import { budgets } from './size/size.mjs';

/** Machines in use swing: a run fails under this part of a target. */
const TOLERANCE = 0.7;

/**
 * Least ratios, by bench, metric and rival, in every runtime. `hand-ts` has no typed-array columns yet, so the column metrics
 * are not held against it: that ratio would flatter.
 */
const ratios = {
	'change-record': { objects_ms: { cborg: 18, 'cbor-x': 9, 'hand-ts': 1.8 } },
	'query-reply': {
		columns_ms: { cborg: 30, 'cbor-x': 15, native: 1 / 1.3 },
		columns_view_ms: { cborg: 45, 'cbor-x': 22 },
		rows_ms: { cborg: 18, 'cbor-x': 9, 'hand-ts': 1.8 },
	},
};

/** A drain is fast enough beside either. */
const drain = { 'laser-sdk': 1, 'null-client': 0.9 };

/** One line for each result that misses its floor or its budget; rivals that did not run are not held against. */
export function shortfalls(results) {
	const missed = [];
	for (const own of results) {
		const { bench, metric, runtime, subject, value } = own;
		const where = `${bench} · ${metric} · ${runtime}`;
		const rivals = results.filter(
			(one) => one !== own && one.bench === bench && one.metric === metric && one.runtime === runtime,
		);
		if (bench === 'size') {
			const limit = metric === 'brotli_bytes' ? budgets[subject]?.limit : undefined;
			if (value > limit) missed.push(`${where}: ${subject} takes ${value} bytes, budget ${limit}`);
			continue;
		}
		if (subject !== 'tidemark') continue;
		if (metric.endsWith('_change_bytes')) {
			const most = metric === 'heap_change_bytes' ? SLACK : 0;
			if (value > most) missed.push(`${where}: ${value} bytes, allowed ${most}`);
			continue;
		}
		if (bench === 'drain') {
			const held = rivals.filter((one) => one.subject in drain);
			const enough = held.some((one) => ratio(own, one) >= drain[one.subject] * TOLERANCE);
			if (held.length > 0 && !enough) missed.push(`${where}: slower than every rival allows`);
			continue;
		}
		for (const one of rivals) {
			const target = ratios[bench]?.[metric]?.[one.subject];
			const reached = ratio(own, one);
			if (target !== undefined && reached < target * TOLERANCE)
				missed.push(
					`${where}: ${reached.toFixed(2)}x of ${one.subject}, floor ${(target * TOLERANCE).toFixed(2)}x`,
				);
		}
	}
	return missed;
}
