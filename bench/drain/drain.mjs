// How fast a full change feed is drained, beside a client that decodes nothing and the vendor's client, all from one
// server process. Runs in Node and, through bench/page, in Chromium.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonClients, root } from '../../scripts/setup.mjs';
import { heapOfDrain } from './heap.mjs';
import { nullRate, tidemarkDrain } from './subjects.mjs';

const RECORDS = 1_000_000;
const ROUNDS = 3;
/** No further round of a runtime begins after so long: on a busy machine there is one, and it counts. */
const ENOUGH_MS = 60_000;
/** What takes longer than this does not work, however busy the machine is. */
const ROUND_MS = 120_000;

/** Ends what hangs with its name, in place of the whole run. */
async function bounded(name, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${name} was not done in ${ROUND_MS / 1000} s`)), ROUND_MS);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}

async function startFeed(staticDir) {
	const child = spawn(
		process.execPath,
		[join(root, 'bench/drain/server.mjs'), String(RECORDS), ...(staticDir ? [staticDir] : [])],
		{
			stdio: ['pipe', 'pipe', 'inherit'],
		},
	);
	const line = await new Promise((resolve, reject) => {
		let text = '';
		child.stdout.on('data', (chunk) => {
			text += chunk;
			if (text.includes('\n')) resolve(text.split('\n')[0]);
		});
		child.once('exit', (code) => reject(new Error(`the feed server ended with ${code}`)));
	});
	return {
		...JSON.parse(line),
		close: () =>
			new Promise((resolve) => {
				child.once('exit', resolve);
				child.stdin.end();
			}),
	};
}

async function laserSdkDrain(feed) {
	const child = spawn(
		pythonClients(),
		[join(root, 'bench/drain/laser_sdk_drain.py'), `iggy+tcp://iggy:iggy@${feed.tcp}`, 'bench', 'orders_v1'],
		{ stdio: ['ignore', 'pipe', 'inherit'] },
	);
	let text = '';
	child.stdout.on('data', (chunk) => {
		text += chunk;
	});
	try {
		await bounded('laser-sdk', new Promise((resolve) => child.once('exit', resolve)));
	} finally {
		child.kill();
	}
	const [records, seconds] = text.trim().split(' ').map(Number);
	return { records, seconds };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Interleaves the subjects, so that whatever else the machine does falls on all of them. */
async function rounds(subjects, runtime) {
	const rates = new Map(Object.keys(subjects).map((name) => [name, []]));
	const began = performance.now();
	for (let round = 0; round < ROUNDS && performance.now() - began < ENOUGH_MS; round += 1) {
		for (const [name, run] of Object.entries(subjects)) {
			const { records, seconds } = await bounded(`${name} in ${runtime}`, run());
			if (records !== RECORDS) throw new Error(`${name} drained ${records} of ${RECORDS} records`);
			rates.get(name).push(records / seconds);
		}
	}
	return [...rates].map(([subject, all]) => ({
		bench: 'drain',
		runtime,
		subject,
		metric: 'records_per_s',
		value: Math.round(median(all)),
		unit: 'records/s',
		best: Math.max(...all),
		spread: [Math.min(...all), Math.max(...all)],
	}));
}

async function inNode(feed) {
	const { default: WebSocket } = await import('ws');
	const tidemark = await import('../../dist/watch.js');
	return rounds(
		{
			'null-client': () => nullRate(WebSocket, feed.ws),
			tidemark: () => tidemarkDrain(tidemark, feed.ws),
			'laser-sdk': () => laserSdkDrain(feed),
		},
		'node',
	);
}

async function buildPage() {
	const { build } = await import('vite');
	const outDir = join(root, 'build/bench-page');
	await build({
		root: join(root, 'bench/page'),
		base: './',
		logLevel: 'error',
		build: { outDir, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
	});
	return outDir;
}

async function inChromium(feed) {
	const [{ chromium }, { CHROMIUM, CHROMIUM_FLAGS }] = await Promise.all([
		import('playwright-core'),
		import('../../scripts/chromium.mjs'),
	]);
	const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: CHROMIUM_FLAGS });
	try {
		const page = await browser.newPage();
		await page.goto(feed.http);
		await page.waitForFunction(() => document.title === 'ready');
		const subject = (name) => [
			name,
			() => page.evaluate(([which, url]) => globalThis.subjects[which](url), [name, feed.ws]),
		];
		const rates = await rounds(Object.fromEntries([subject('null-client'), subject('tidemark')]), 'chromium');
		const kept = await bounded('the drain with heap samples', heapOfDrain(page, feed.ws, RECORDS));
		return [...rates, ...kept.map((line) => ({ ...line, runtime: 'chromium' }))];
	} finally {
		await browser.close();
	}
}

/** All from one server: filling its feed takes longer than draining it. Gives the results of each runtime. */
export async function* drains() {
	const feed = await startFeed(await buildPage());
	try {
		yield await inNode(feed);
		yield await inChromium(feed);
	} finally {
		await feed.close();
	}
}
