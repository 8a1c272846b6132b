// How fast a full change feed is drained, beside a client that decodes nothing and the vendor's client, all from one
// server process. Runs in Node and, through bench/page, in Chromium.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonClients, root } from '../../scripts/setup.mjs';
import { drain as nullDrain } from './null-client.mjs';

export const RECORDS = 1_000_000;
const ROUNDS = 3;
// The largest request that the protocol's own reader makes, for every subject that lets one choose.
const BATCH = 10_000;

export async function startFeed(staticDir) {
	const child = spawn(process.execPath, [join(root, 'bench/drain/server.mjs'), String(RECORDS), ...(staticDir ? [staticDir] : [])], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
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

export async function tidemarkDrain({ Laser }, url) {
	const laser = await Laser.connectWithStream(url, 'bench', { username: 'iggy', password: 'iggy' });
	const reader = (await laser.watch().index('orders_v1').records()).batch(BATCH);
	const started = performance.now();
	let records = 0;
	for (;;) {
		const changes = await reader.poll();
		if (changes.length === 0) break;
		records += changes.length;
	}
	const seconds = (performance.now() - started) / 1000;
	await laser.close();
	return { records, seconds };
}

export async function nullRate(WebSocketClass, url) {
	const started = performance.now();
	const records = await nullDrain(WebSocketClass, url, { stream: '_agdx', topic: 'changes', batch: BATCH });
	return { records, seconds: (performance.now() - started) / 1000 };
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
