// What is measured, the same code in Node and in a page.
import { drain } from './null-client.mjs';

// The largest request that the protocol's own reader makes, for every subject that lets one choose.
const BATCH = 10_000;

export async function openFeed({ Laser }, url) {
	const laser = await Laser.connectWithStream(url, 'bench', { username: 'iggy', password: 'iggy' });
	return [laser, (await laser.watch().index('orders_v1').records()).batch(BATCH)];
}

export async function tidemarkDrain(tidemark, url) {
	const [laser, reader] = await openFeed(tidemark, url);
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
	const records = await drain(WebSocketClass, url, { stream: '_agdx', topic: 'changes', batch: BATCH });
	return { records, seconds: (performance.now() - started) / 1000 };
}
