// Measures against what people use instead, all in one run, and prints ratios.
//   npm run bench [-- --json] [-- --only NAME]     NAME: change-record, query-reply, drain, size
// With --json, one object a line: { bench, runtime, subject, metric, value, unit }.
import { parseArgs } from 'node:util';
import { decodeInChromium, decodeInNode } from '../bench/decode/run.mjs';
import { drainInChromium, drainInNode } from '../bench/drain/drain.mjs';
import { sizes } from '../bench/size/size.mjs';
import { build } from './build.mjs';
import { setup } from './setup.mjs';

const benches = {
	'change-record': [() => decodeInNode('change-record'), () => decodeInChromium('change-record')],
	'query-reply': [() => decodeInNode('query-reply'), () => decodeInChromium('query-reply')],
	drain: [drainInNode, drainInChromium],
	size: [sizes],
};

/** Milliseconds and bytes are better small, rates better large: a ratio above 1 says that the first subject wins. */
function ratio(result, other) {
	return result.unit.endsWith('/s') ? result.value / other.value : other.value / result.value;
}

function print(results) {
	const groups = Map.groupBy
		? Map.groupBy(results, (one) => `${one.bench} · ${one.metric} · ${one.runtime}`)
		: results.reduce((map, one) => {
				const key = `${one.bench} · ${one.metric} · ${one.runtime}`;
				return map.set(key, [...(map.get(key) ?? []), one]);
			}, new Map());
	for (const [name, group] of groups) {
		console.log(`\n${name}`);
		const own = group.find((one) => one.subject === 'tidemark');
		for (const one of group) {
			const against = own === undefined || one === own ? '' : `   tidemark ${ratio(own, one).toFixed(2)}x`;
			const value = one.value >= 100 ? Math.round(one.value).toLocaleString('en') : one.value.toPrecision(3);
			console.log(`  ${one.subject.padEnd(20)} ${value.padStart(12)} ${one.unit}${against}`);
		}
	}
}

try {
	const { values } = parseArgs({
		options: { json: { type: 'boolean', default: false }, only: { type: 'string' } },
	});
	const chosen = values.only === undefined ? Object.keys(benches) : [values.only];
	for (const name of chosen)
		if (!(name in benches))
			throw new Error(`no bench ${name}; there are: ${Object.keys(benches).join(', ')}`);
	setup('build', 'chromium', 'python');
	build({ demo: false, quiet: values.json });
	const all = [];
	for (const name of chosen) {
		for (const run of benches[name]) {
			const results = await run();
			all.push(...results);
			if (values.json) for (const result of results) console.log(JSON.stringify(result));
		}
	}
	if (!values.json) print(all);
} catch (error) {
	console.error(error instanceof Error ? (error.stack ?? error.message) : error);
	process.exit(1);
}
