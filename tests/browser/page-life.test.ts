import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {} from './page/globals.js';
import type { JournalSetup } from './page/journal.js';
import { CHROMIUM, CHROMIUM_FLAGS, launchChromium } from './support/browsers.js';
import { append, createTopic, type DevServer, testServer } from './support/servers.js';

const STREAM = 'life';
const WATCHDOG_MS = 3_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const range = (from: number, count: number): string[] =>
	Array.from({ length: count }, (_, i) => `0:${from + i}`);

let server: DevServer & { ws: string; http: string };
let topics = 0;
beforeAll(async () => {
	server = await testServer();
});
afterAll(() => server?.close());

async function setUp(records: number): Promise<JournalSetup> {
	const topic = `topic-${++topics}`;
	await createTopic(server, STREAM, topic);
	await append(server, STREAM, topic, records);
	return { ws: server.ws, stream: STREAM, topic, name: topic, watchdogMs: WATCHDOG_MS };
}

/** Counts the sockets of a page, and those that were open at once. */
function countSockets(): void {
	const Native = globalThis.WebSocket;
	const sockets: WebSocket[] = [];
	class Counted extends Native {
		constructor(address: string | URL, protocols?: string | string[]) {
			super(address, protocols);
			sockets.push(this);
		}
	}
	Object.assign(globalThis, { WebSocket: Counted, sockets });
}

describe('offline in chromium', () => {
	it('a socket that goes silent and stays open is replaced within the watchdog and a second', async () => {
		const browser = await launchChromium();
		const page = await browser.context.newPage();
		await page.addInitScript(countSockets);
		await page.goto(server.http);
		await page.waitForFunction(() => document.title === 'ready');
		const setup = await setUp(10);
		await page.evaluate((given) => journal.start(given), setup);
		expect(await page.evaluate(() => journal.current.rowsAtLeast(10))).toEqual(range(0, 10));

		await browser.context.setOffline(true);
		await append(server, STREAM, setup.topic, 10);
		await sleep(1_000);
		// Nothing closes it, and nothing comes.
		const meanwhile = await page.evaluate(async () => ({
			states: (Reflect.get(globalThis, 'sockets') as WebSocket[]).map((socket) => socket.readyState),
			rows: (await journal.current.rows()).length,
		}));
		expect(meanwhile).toEqual({ states: [1], rows: 10 });
		await browser.context.setOffline(false);
		const back = Date.now();
		expect(await page.evaluate(() => journal.current.rowsAtLeast(20))).toEqual(range(0, 20));
		expect(Date.now() - back).toBeLessThan(WATCHDOG_MS + 1_000);
		await browser.close();
	});

	it('offline for longer than the watchdog: waits, and is back within the watchdog and a second', async () => {
		const browser = await launchChromium();
		const page = await browser.context.newPage();
		await page.goto(server.http);
		await page.waitForFunction(() => document.title === 'ready');
		const setup = await setUp(10);
		await page.evaluate((given) => journal.start(given), setup);
		await page.evaluate(() => journal.current.rowsAtLeast(10));
		await browser.context.setOffline(true);
		await append(server, STREAM, setup.topic, 10);
		await page.waitForFunction(() => journal.current.laser.connection.state !== 'ready', undefined, {
			timeout: 3 * WATCHDOG_MS,
		});
		await sleep(2_000);
		await browser.context.setOffline(false);
		const back = Date.now();
		expect(await page.evaluate(() => journal.current.rowsAtLeast(20))).toEqual(range(0, 20));
		expect(Date.now() - back).toBeLessThan(WATCHDOG_MS + 1_000);
		await browser.close();
	});
});

describe('put away and brought back, in chromium', () => {
	let browser: Browser;
	let page: Page;
	beforeAll(async () => {
		browser = await puppeteer.launch({
			browser: 'chrome',
			executablePath: CHROMIUM,
			headless: true,
			args: CHROMIUM_FLAGS,
		});
	});
	afterEach(() => page?.close());
	afterAll(() => browser?.close());

	async function openPage(): Promise<Page> {
		const opened = await browser.newPage();
		await opened.evaluateOnNewDocument(countSockets);
		await opened.goto(server.http);
		await opened.waitForFunction(() => document.title === 'ready');
		return opened;
	}

	const sockets = () =>
		page.evaluate(() =>
			(Reflect.get(globalThis, 'sockets') as WebSocket[]).map((socket) => socket.readyState),
		);

	it('a page from the back-forward cache dials once and goes on at the stored position', async () => {
		page = await openPage();
		const setup = await setUp(10);
		await page.evaluate((given) => journal.start(given), setup);
		expect(await page.evaluate(() => journal.current.rowsAtLeast(10))).toEqual(range(0, 10));
		await page.evaluate(() => {
			addEventListener('pageshow', (event) => Object.assign(globalThis, { restored: event.persisted }));
		});
		const before = await sockets();
		expect(before).toEqual([1]);
		await page.goto(`${server.http}/tidemark-dev.json`);
		await append(server, STREAM, setup.topic, 10);
		await sleep(500);
		await page.evaluate(() => {
			setTimeout(() => history.back(), 50);
		});
		await sleep(1_500);
		expect(await page.evaluate(() => Reflect.get(globalThis, 'restored'))).toBe(true);
		expect(await page.evaluate(() => journal.current.rowsAtLeast(20))).toEqual(range(0, 20));
		await sleep(500);
		// One new socket; the old one is closed, and its late events changed nothing.
		expect(await sockets()).toEqual([3, 1]);
		await append(server, STREAM, setup.topic, 5);
		expect(await page.evaluate(() => journal.current.rowsAtLeast(25))).toEqual(range(0, 25));
		expect(await sockets()).toEqual([3, 1]);
		expect(await page.evaluate(() => journal.current.failures)).toEqual([]);
	});

	it('a frozen page gives its turn to another tab, and goes on after it with one new socket', async () => {
		page = await openPage();
		const setup = await setUp(10);
		await page.evaluate((given) => journal.start(given), setup);
		await page.evaluate(() => journal.current.rowsAtLeast(10));
		const devtools = await page.createCDPSession();
		await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
		await append(server, STREAM, setup.topic, 10);
		const other = await openPage();
		await other.evaluate((given) => journal.start(given), setup);
		expect(await other.evaluate(() => journal.current.rowsAtLeast(20))).toEqual(range(0, 20));
		await other.close();
		await append(server, STREAM, setup.topic, 10);
		await devtools.send('Page.setWebLifecycleState', { state: 'active' });
		await page.bringToFront();
		expect(await page.evaluate(() => journal.current.rowsAtLeast(30))).toEqual(range(0, 30));
		await sleep(300);
		expect(await sockets()).toEqual([3, 1]);
		expect(await page.evaluate(() => journal.current.failures)).toEqual([]);
	});
});
