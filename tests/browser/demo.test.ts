import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/dist/index.js';
import { launchChromium } from './support/browsers.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const AXE = readFileSync(`${root}/node_modules/axe-core/axe.min.js`, 'utf8');
const SCREENS = `${root}/build/screenshots`;

let server: DevServer & { http: string };
let browser: Awaited<ReturnType<typeof launchChromium>>;
const pages: Page[] = [];

beforeAll(async () => {
	await build({ root: `${root}/web-demo`, logLevel: 'warn' });
	mkdirSync(SCREENS, { recursive: true });
	const started = await startServer({
		ws: '127.0.0.1:0',
		http: '127.0.0.1:0',
		staticDir: `${root}/web-demo/dist`,
	});
	server = Object.assign(started, { http: started.addresses.http as string });
	browser = await launchChromium();
}, 300_000);

afterAll(async () => {
	await browser?.close();
	await server?.close();
});
afterEach(async () => {
	for (const page of pages.splice(0)) await page.close();
});

async function open(width = 1440, scheme: 'light' | 'dark' = 'light'): Promise<Page> {
	const page = await browser.context.newPage();
	pages.push(page);
	page.on('console', (message) => {
		if (message.type() === 'error') console.error(`console: ${message.text()}`);
	});
	await page.setViewportSize({ width, height: width > 600 ? 1000 : 844 });
	await page.emulateMedia({ colorScheme: scheme });
	await page.goto(server.http);
	await page.waitForFunction(
		() =>
			document.getElementById('state-name')?.textContent === 'ready' &&
			document.getElementById('state-detail')?.textContent?.includes('tab-'),
	);
	return page;
}

const count = (page: Page, selector: string) => page.locator(selector).count();
const text = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? '';
const until = (page: Page, selector: string, wanted: number) =>
	page.waitForFunction(
		([query, least]) => document.querySelectorAll(query as string).length >= (least as number),
		[selector, wanted] as const,
		{ timeout: 30_000 },
	);

/** Serious or not: everything that axe finds, as `rule: target`. */
async function axe(page: Page): Promise<string[]> {
	const devtools = await browser.context.newCDPSession(page);
	await devtools.send('Runtime.evaluate', { expression: AXE });
	const { result } = await devtools.send('Runtime.evaluate', {
		expression: 'axe.run().then(({ violations }) => JSON.stringify(violations))',
		awaitPromise: true,
		returnByValue: true,
	});
	await devtools.detach();
	const violations = JSON.parse(String(result.value)) as { id: string; nodes: { target: string[] }[] }[];
	return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** What has the focus, and whether one can see that. */
const focused = (page: Page) =>
	page.evaluate(() => {
		const element = document.activeElement as HTMLElement;
		const { outlineStyle, outlineWidth } = getComputedStyle(element);
		const { left, top, right, bottom } = element.getBoundingClientRect();
		return {
			id: element.id || element.className || element.tagName,
			visible:
				outlineStyle !== 'none' &&
				Number.parseFloat(outlineWidth) >= 2 &&
				left >= 0 &&
				top >= 0 &&
				right <= innerWidth &&
				bottom <= innerHeight,
		};
	});

/** Presses Tab until the element has the focus, and sees that the focus shows at every stop. */
async function tabTo(page: Page, id: string): Promise<void> {
	const passed: string[] = [];
	for (let presses = 0; presses < 30; presses++) {
		await page.keyboard.press('Tab');
		const at = await focused(page);
		passed.push(at.id);
		expect(at.visible, `the focus shows on ${at.id}`).toBe(true);
		if (at.id === id) return;
	}
	throw new Error(`${id} cannot be reached by Tab: ${passed.join(', ')}`);
}

describe('the demo page', () => {
	it('the story by keyboard alone', async () => {
		const [writing, reading] = [await open(), await open()];
		await writing.bringToFront();
		await writing.keyboard.press('Tab');
		expect((await focused(writing)).id).toBe('skip');
		await tabTo(writing, 'status');
		await writing.keyboard.press('ArrowDown');
		await tabTo(writing, 'total');
		await writing.keyboard.press('Control+A');
		await writing.keyboard.type('41.5');
		await writing.keyboard.press('Enter');
		// What a screen reader says: a live region that was there before, with new text.
		await writing.waitForFunction(() =>
			/^Published order \S+\.$/.test(document.getElementById('publish-result')?.textContent ?? ''),
		);
		expect(await writing.locator('#publish-result').getAttribute('aria-live')).toBe('polite');
		await until(reading, '#feed li', 1);
		expect(await text(reading, '#feed li:first-child span')).toBe(
			'view advanced: 1 row(s), source offsets 0..0',
		);
		await until(reading, '#orders tr', 1);
		expect(await reading.locator('#orders tr:first-child td').allTextContents()).toEqual([
			expect.any(String),
			'Oysters',
			'shipped',
			'41.50',
		]);

		await reading.bringToFront();
		await reading.reload();
		await until(reading, '#feed li', 1);
		await writing.bringToFront();
		await tabTo(writing, 'send-ten');
		await writing.keyboard.press('Space');
		await until(reading, '#orders tr', 11);
		await reading.waitForFunction(() => document.getElementById('row-count')?.textContent === '11');
		await tabTo(writing, 'cut');
		await writing.keyboard.press('Enter');
		await writing.waitForFunction(() =>
			document.getElementById('trouble-result')?.textContent?.includes('cut every connection'),
		);
		await writing.waitForFunction(() => document.getElementById('state-name')?.textContent === 'ready');
	});

	it('right after a reload the stored position shows, before anything new comes', async () => {
		const page = await open();
		const lines = await count(page, '#feed li');
		await page.click('#send');
		await until(page, '#feed li', lines + 1);
		await page.waitForFunction(() => /^0:\d+$/.test(document.getElementById('position')?.textContent ?? ''));
		await page.waitForTimeout(300);
		const before = await text(page, '#position');
		// Nothing is read after this reload: what shows comes from the store.
		await page.addInitScript(() => {
			const seen: string[] = [];
			Object.assign(globalThis, { seen });
			addEventListener('DOMContentLoaded', () => {
				const position = document.getElementById('position') as HTMLElement;
				new MutationObserver(() => seen.push(position.textContent ?? '')).observe(position, {
					childList: true,
					characterData: true,
					subtree: true,
				});
			});
		});
		await page.reload();
		await page.waitForFunction(() => (Reflect.get(globalThis, 'seen') as string[]).length > 0);
		expect((await page.evaluate(() => Reflect.get(globalThis, 'seen') as string[]))[0]).toBe(before);
	});

	it('a connection that is cut comes back, and the page goes on', async () => {
		const page = await open();
		const lines = await count(page, '#feed li');
		for (let round = 1; round <= 3; round++) {
			await page.click('#cut');
			await page.click('#send');
			await until(page, '#feed li', lines + round);
		}
		expect(await count(page, '#feed li.gap')).toBe(0);
	});

	it('paused, published from another tab, trimmed, gone on: the page says what it missed', async () => {
		const [page, other] = [await open(), await open()];
		await other.click('#send');
		await until(page, '#feed li', 1);
		await page.click('#pause');
		await page.waitForFunction(() => document.getElementById('state-name')?.textContent === 'paused');
		const next = /^0:(\d+)$/.exec(await text(page, '#position'))?.[1];
		const lines = await count(other, '#feed li');
		await other.click('#send');
		await until(other, '#feed li', lines + 1);
		await other.click('#send');
		await until(other, '#feed li', lines + 2);
		await other.click('#trim');
		await other.waitForFunction(() =>
			document.getElementById('trouble-result')?.textContent?.includes('no longer'),
		);
		await page.click('#pause');
		await until(page, '#feed li.gap', 1);
		const gap = await text(page, '#feed li.gap');
		expect(gap).toContain('History lost');
		expect(gap).toContain(`feed partition 0: asked for offset ${next},`);
		await other.click('#send');
		await until(other, '#feed li', lines + 3);
		const newest = await text(other, '#feed li:first-child span');
		await page
			.waitForFunction(
				(wanted) => document.querySelector('#feed li:first-child span')?.textContent === wanted,
				newest,
			)
			.catch(async (error: unknown) => {
				const feed = await page.$$eval('#feed li', (items) => items.map((item) => item.textContent));
				throw new Error(`waited for ${newest}, the feed shows ${JSON.stringify(feed)}`, { cause: error });
			});
		expect(await axe(page)).toEqual([]);
		await page.screenshot({ path: `${SCREENS}/gap-1440.png`, fullPage: true });
	});

	it.each([390, 1440])(
		'axe finds nothing at %i px in both themes, and nothing scrolls sideways',
		async (width) => {
			for (const scheme of ['light', 'dark'] as const) {
				const page = await open(width, scheme);
				await page.click('#send-ten');
				await until(page, '#orders tr', 10);
				await until(page, '#feed li', 1);
				expect(await axe(page)).toEqual([]);
				expect(
					await page.evaluate(
						() => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
					),
				).toBe(true);
				// The button turns it round, and the colours hold there as well.
				await page.screenshot({ path: `${SCREENS}/${scheme}-${width}.png`, fullPage: true });
				await page.click('#theme');
				expect(await page.evaluate(() => document.documentElement.dataset['theme'])).not.toBe(scheme);
				expect(await axe(page)).toEqual([]);
				await page.close();
				pages.splice(pages.indexOf(page), 1);
			}
		},
	);

	it('axe does find what is wrong', async () => {
		const page = await open();
		await page.evaluate(() => document.querySelector('label[for="total"]')?.remove());
		expect((await axe(page)).join()).toContain('label: #total');
	});
});
