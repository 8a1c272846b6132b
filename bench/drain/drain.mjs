// How fast a full change feed is drained, beside a client that decodes nothing and the vendor's client, all from one
// server process. Runs in Node and, through bench/page, in Chromium.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonClients, root } from '../../scripts/setup.mjs';
import { nullRate, tidemarkDrain } from './subjects.mjs';

export const RECORDS = 1_000_000;
const ROUNDS = 3;

export async function startFeed(staticDir) {
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
	await new Promise((resolve) => child.once('exit', resolve));
	const [records, seconds] = text.trim().split(' ').map(Number);
	return { records, seconds };
}

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Interleaves the subjects, so that whatever else the machine does falls on all of them. */
export async function rounds(subjects, runtime) {
	const rates = new Map(Object.keys(subjects).map((name) => [name, []]));
	for (let round = 0; round < ROUNDS; round += 1) {
		for (const [name, run] of Object.entries(subjects)) {
			const { records, seconds } = await run();
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

export async function drainInNode() {
	const { default: WebSocket } = await import('ws');
	const tidemark = await import('../../dist/watch.js');
	const feed = await startFeed();
	try {
		return await rounds(
			{
				'null-client': () => nullRate(WebSocket, feed.ws),
				tidemark: () => tidemarkDrain(tidemark, feed.ws),
				'laser-sdk': () => laserSdkDrain(feed),
			},
			'node',
		);
	} finally {
		await feed.close();
	}
}

export async function drainInChromium() {
	const [{ build }, { chromium }, { CHROMIUM, CHROMIUM_FLAGS }] = await Promise.all([
		import('vite'),
		import('playwright-core'),
		import('../../scripts/chromium.mjs'),
	]);
	const outDir = join(root, 'build/bench-page');
	await build({
		root: join(root, 'bench/page'),
		base: './',
		logLevel: 'error',
		build: { outDir, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
	});
	const feed = await startFeed(outDir);
	const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: CHROMIUM_FLAGS });
	try {
		const page = await browser.newPage();
		await page.goto(feed.http);
		await page.waitForFunction(() => document.title === 'ready');
		const subject = (name) => [
			name,
			() => page.evaluate(([which, url]) => globalThis.subjects[which](url), [name, feed.ws]),
		];
		return await rounds(Object.fromEntries([subject('null-client'), subject('tidemark')]), 'chromium');
	} finally {
		await browser.close();
		await feed.close();
	}
}
