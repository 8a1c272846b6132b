import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as programs from './page/examples.js';
import type {} from './page/globals.js';
import { launchers, type TestBrowser, type TestPage } from './support/browsers.js';
import { type DevServer, testServer } from './support/servers.js';

type Programs = typeof programs;
const own: Programs = { ...programs };
type Name = keyof Programs;

interface Runtime {
	call<N extends Name>(name: N, ...args: Parameters<Programs[N]>): Promise<Awaited<ReturnType<Programs[N]>>>;
	/** What a reload is to a page, a new process is to Node: nothing in memory survives. */
	reload(): Promise<void>;
	close(): Promise<void>;
}

function node(): Runtime {
	return {
		call: (name, ...args) => (own[name] as (...all: unknown[]) => never)(...args),
		reload: async () => {},
		close: async () => {},
	};
}

async function inPage(browser: TestBrowser, address: string): Promise<Runtime> {
	const page: TestPage = await browser.page();
	await page.open(address);
	return {
		call: (name, ...args) =>
			page.run(({ called, given }) => (examples[called] as (...all: unknown[]) => never)(...given), {
				called: name,
				given: args as unknown[],
			}),
		reload: () => page.reload(),
		close: async () => {
			expect(await page.run(() => violations)).toEqual([]);
			await page.close();
		},
	};
}

let server: DevServer & { ws: string; http: string };
const browsers: TestBrowser[] = [];

beforeAll(async () => {
	server = await testServer({ readyAfterMs: 500 });
});

afterAll(async () => {
	for (const browser of browsers) await browser.close();
	await server?.close();
});

const runtimes = ['node', 'chromium', 'firefox'] as const;

describe.each(runtimes)('example programs in %s', (name) => {
	let open: () => Promise<Runtime>;

	beforeAll(async () => {
		if (name === 'node') {
			open = async () => node();
			return;
		}
		const browser = await launchers[name]();
		browsers.push(browser);
		open = () => inPage(browser, server.http);
	});

	it('1: a published order advances the view, and its row is read back', async () => {
		const runtime = await open();
		await runtime.call('bindOrders', server.ws, `one-${name}`);
		const first = await runtime.call('changeFeed', server.ws, `one-${name}`);
		expect(first.printed).toEqual(['view advanced: 1 row(s), source offsets 0..0']);
		expect(first.rows.map((row) => [Number(row['id']), row['status'], Number(row['total'])])).toEqual([
			[4, 'paid', 20],
		]);
		const again = await runtime.call('changeFeed', server.ws, `one-${name}`);
		expect(again.printed).toEqual(['view advanced: 1 row(s), source offsets 1..1']);
		await runtime.close();
	});

	it('2: readiness is waited for', async () => {
		const runtime = await open();
		expect(await runtime.call('readiness', server.ws)).toEqual([true, true, 'boolean', 0]);
		await runtime.close();
	});

	it('3: one tab publishes, the other resumes from saved offsets and sees every advancement once', async () => {
		const stream = `three-${name}`;
		const [writing, reading] = [await open(), await open()];
		await writing.call('bindOrders', server.ws, stream);
		await writing.call('publishOrders', server.ws, stream, 0, 5);
		await server.plane?.settle();
		const before = await reading.call('advances', server.ws, stream, []);
		await reading.reload();
		const publishing = writing.call('publishOrders', server.ws, stream, 5, 20);
		const all = [...before.ranges];
		let saved = before.saved;
		for (let round = 0; round < 4; round++) {
			if (round === 3) {
				await publishing;
				await server.plane?.settle();
			}
			const seen = await reading.call('advances', server.ws, stream, saved);
			all.push(...seen.ranges);
			saved = seen.saved;
			await reading.reload();
		}
		const offsets = all.flatMap((range) => {
			const [from, to] = range.split('..').map(Number) as [number, number];
			return Array.from({ length: to - from + 1 }, (_, i) => from + i);
		});
		expect(offsets).toEqual(Array.from({ length: 25 }, (_, i) => i));
		await writing.close();
		await reading.close();
	});
});
