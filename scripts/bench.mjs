// Measures against what people use instead, all in one run, and prints ratios first.
//   npm run bench [-- --json] [--check] [--only NAME]...     NAME: change-record, query-reply, drain, size
// With --json standard output holds nothing but one object a line: { bench, runtime, subject, metric, value, unit }.
// With --check it ends with 1 when a ratio is under its floor or an entry over its size (bench/targets.mjs).
import { parseArgs } from 'node:util';
import { decodeInChromium, decodeInNode } from '../bench/decode/run.mjs';
import { drains } from '../bench/drain/drain.mjs';
import { report } from '../bench/report.mjs';
import { sizes } from '../bench/size/size.mjs';
import { shortfalls } from '../bench/targets.mjs';
import { build } from './build.mjs';
import { setup } from './setup.mjs';

async function* decoding(name) {
	yield await decodeInNode(name);
	yield await decodeInChromium(name);
}

/** Each yields the results of one runtime after the other. */
const benches = {
	'change-record': () => decoding('change-record'),
	'query-reply': () => decoding('query-reply'),
	drain: drains,
	async *size() {
		yield await sizes();
	},
};

try {
	const { values } = parseArgs({
		options: {
			json: { type: 'boolean', default: false },
			check: { type: 'boolean', default: false },
			only: { type: 'string', multiple: true },
		},
	});
	const chosen = values.only ?? Object.keys(benches);
	for (const name of chosen)
		if (!Object.hasOwn(benches, name))
			throw new Error(`no bench ${name}; there are: ${Object.keys(benches).join(', ')}`);
	// What tools say on the way belongs to nobody who reads results: it goes to standard error.
	console.log = console.error;
	setup('build', 'chromium', 'python');
	build({ demo: false, quiet: true });
	const all = [];
	for (const name of new Set(chosen)) {
		const began = performance.now();
		for await (const results of benches[name]()) {
			all.push(...results);
			if (values.json)
				for (const { bench, runtime, subject, metric, value, unit } of results)
					process.stdout.write(`${JSON.stringify({ bench, runtime, subject, metric, value, unit })}\n`);
		}
		console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
	}
	if (!values.json) process.stdout.write(report(all));
	if (values.check) {
		const missed = shortfalls(all);
		for (const line of missed) console.error(line);
		if (missed.length > 0) process.exitCode = 1;
	}
} catch (error) {
	console.error(error instanceof Error ? (error.stack ?? error.message) : error);
	process.exit(1);
}
