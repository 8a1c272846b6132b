// What a drain keeps: heap after a forced collection at a tenth, a quarter, half, three quarters and the end, beside the tenth.
// The page also looks at each record: the feed's nth says that it is the nth.
const PERCENTS = [10, 25, 50, 75, 100];

/** Most that the heap may lie above or below the first sample. */
export const SLACK = 2 * 1024 * 1024;

/** `page` holds globalThis.watched (bench/page/main.js). Gives result lines without runtime. */
export async function heapOfDrain(page, url, records) {
	const inspector = await page.context().newCDPSession(page);
	await inspector.send('HeapProfiler.enable');
	await page.evaluate((address) => globalThis.watched.open(address), url);
	const samples = [];
	for (const percent of PERCENTS) {
		const target = (records * percent) / 100;
		const { seen, disorder, wasm } = await page.evaluate((to) => globalThis.watched.drainTo(to), target);
		if (seen !== target || disorder > 0)
			throw new Error(`at ${percent} % the drain had ${seen} records, ${disorder} of them out of order`);
		if (wasm === 0) throw new Error('the page saw no wasm memory: its heap cannot be told from it');
		await inspector.send('HeapProfiler.collectGarbage');
		const { usedSize, backingStorageSize = 0 } = await inspector.send('Runtime.getHeapUsage');
		samples.push({ heap: usedSize + backingStorageSize - wasm, wasm });
	}
	const { seen } = await page.evaluate((to) => globalThis.watched.drainTo(to), records + 1);
	if (seen !== records) throw new Error(`the drain brought ${seen} records of ${records}`);
	await page.evaluate(() => globalThis.watched.close());
	await inspector.detach();
	const [first, ...rest] = samples;
	const line = { bench: 'drain', subject: 'tidemark', unit: 'bytes' };
	const most = (key) => Math.max(...rest.map((sample) => Math.abs(sample[key] - first[key])));
	return [
		{ ...line, metric: 'heap_change_bytes', value: most('heap') },
		{ ...line, metric: 'wasm_memory_change_bytes', value: most('wasm') },
	];
}
