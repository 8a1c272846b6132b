import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { encodeChange } from '../../dev-server/src/plane/feed.js';
import { chromiumPage, launchChromium } from './support/browsers.js';

const RECORDS = 1_000_000;
const SAMPLES = [10, 25, 50, 75, 100];
const SLACK = 2 * 1024 * 1024;

let server: DevServer;
let browser: Awaited<ReturnType<typeof launchChromium>>;

interface Page {
	tidemark: typeof import('../../js/index.js');
	wasmMemories: WebAssembly.Memory[];
	reader: import('../../js/index.js').WatchReader;
	seen: number;
	disorder: number;
}

/** In the page, before its scripts: remembers the memories of wasm instances, to read how large they are. */
function watchWasm(): void {
	const page = globalThis as unknown as Page;
	page.wasmMemories = [];
	const { instantiate } = WebAssembly;
	WebAssembly.instantiate = (async (...args: Parameters<typeof instantiate>) => {
		const result = (await instantiate(...args)) as unknown as
			| WebAssembly.Instance
			| WebAssembly.WebAssemblyInstantiatedSource;
		const { exports } = 'instance' in result ? result.instance : result;
		for (const one of Object.values(exports)) {
			if (one instanceof WebAssembly.Memory) page.wasmMemories.push(one);
		}
		return result;
	}) as typeof instantiate;
}

async function open({ ws }: { ws: string }): Promise<void> {
	const page = globalThis as unknown as Page;
	const laser = await page.tidemark.Laser.connectWithStream(ws, 'shop', {
		username: 'iggy',
		password: 'iggy',
	});
	page.reader = await laser.watch().records();
	page.seen = page.disorder = 0;
}

/** In the page: polls until this many records were seen. Record n says that it is the nth: any other is counted. */
async function drainTo({
	target,
}: {
	target: number;
}): Promise<{ seen: number; disorder: number; wasm: number }> {
	const page = globalThis as unknown as Page;
	while (page.seen < target) {
		const changes = await page.reader.poll();
		if (changes.length === 0) break;
		for (const change of changes) {
			if (change.fromOffset !== BigInt(page.seen) || change.rows !== (page.seen % 7) + 1) page.disorder++;
			page.seen++;
		}
	}
	const wasm = page.wasmMemories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
	return { seen: page.seen, disorder: page.disorder, wasm };
}

/** Encoding a million records one by one takes longer than draining them: the offsets are put into ready bytes. */
function changeMaker(): (n: number) => Uint8Array {
	const encode = (n: number): Uint8Array => {
		const offset = BigInt(n);
		const change = {
			index: 'stream:shop/orders_v1',
			partitionId: n % 4,
			rows: (n % 7) + 1,
			sourceStream: '',
		};
		return encodeChange({ ...change, fromOffset: offset, toOffset: offset }, false);
	};
	// Numbers from here on take four bytes.
	const wide = 65_536;
	const models = Array.from({ length: 28 }, (_, index) => {
		const n = 0x11223344 - (0x11223344 % 28) + index;
		const bytes = Buffer.from(encode(n));
		const pattern = Buffer.alloc(4);
		pattern.writeUInt32BE(n);
		const from = bytes.indexOf(pattern);
		return { bytes, from, to: bytes.indexOf(pattern, from + 4) };
	});
	return (n) => {
		if (n < wide) return encode(n);
		const { bytes, from, to } = models[n % 28]!;
		const made = Buffer.from(bytes);
		made.writeUInt32BE(n, from);
		made.writeUInt32BE(n, to);
		return made;
	};
}

beforeAll(async () => {
	server = await startServer({
		ws: '127.0.0.1:0',
		http: '127.0.0.1:0',
		staticDir: fileURLToPath(new URL('../../build/browser-page', import.meta.url)),
	});
	const make = changeMaker();
	for (let next = 0; next < RECORDS; next += 10_000) {
		const payloads = Array.from({ length: 10_000 }, (_, index) => ({ payload: make(next + index) }));
		await server.log.append('_agdx', 'changes', 0, payloads);
	}
	browser = await launchChromium();
});

afterAll(async () => {
	await browser?.close();
	await server?.close();
});

it('a million changes are drained in order, each once, in constant memory', async () => {
	const page = await browser.context.newPage();
	await page.addInitScript(watchWasm);
	const driven = chromiumPage(page);
	await driven.open(server.addresses.http!);
	const inspector = await browser.context.newCDPSession(page);
	await inspector.send('HeapProfiler.enable');
	await driven.run(open, { ws: server.addresses.ws! });
	const heaps: number[] = [];
	const memories: number[] = [];
	const began = performance.now();
	for (const percent of SAMPLES) {
		const { seen, disorder, wasm } = await driven.run(drainTo, { target: (RECORDS * percent) / 100 });
		expect({ seen, disorder }).toEqual({ seen: (RECORDS * percent) / 100, disorder: 0 });
		await inspector.send('HeapProfiler.collectGarbage');
		const heap = (await inspector.send('Runtime.getHeapUsage')) as {
			usedSize: number;
			backingStorageSize?: number;
		};
		heaps.push(heap.usedSize + (heap.backingStorageSize ?? 0) - wasm);
		memories.push(wasm);
	}
	const seconds = (performance.now() - began) / 1_000;
	const mib = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2);
	console.log(
		`drain: ${(RECORDS / seconds).toFixed(0)} records/s; heap ${heaps.map(mib).join(', ')} MiB; wasm ${memories.map(mib).join(', ')} MiB`,
	);
	const end = await driven.run(drainTo, { target: RECORDS + 1 });
	expect(end).toMatchObject({ seen: RECORDS, disorder: 0 });
	expect(memories[0]).toBeGreaterThan(0);
	for (const heap of heaps) expect(Math.abs(heap - heaps[0]!)).toBeLessThanOrEqual(SLACK);
	for (const memory of memories) expect(memory).toBe(memories[0]);
});
