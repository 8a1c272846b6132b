import { type BrowserContext, chromium, type Page } from 'playwright-core';
import puppeteer from 'puppeteer-core';

/** What tests need of a page, the same for every browser. */
export interface TestPage {
	open(address: string): Promise<void>;
	/** Runs a function in the page. It must not use anything from outside but its argument. */
	run<Result, Argument = undefined>(
		body: (argument: Argument) => Result | Promise<Result>,
		argument?: Argument,
	): Promise<Result>;
	reload(): Promise<void>;
	close(): Promise<void>;
}

export interface TestBrowser {
	name: 'chromium' | 'firefox';
	/** Pages share one profile: the same storage, locks and channels. */
	page(): Promise<TestPage>;
	close(): Promise<void>;
}

export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const FIREFOX = process.env['FIREFOX'] ?? '/usr/bin/firefox-esr';

export const CHROMIUM_FLAGS = [
	'--no-sandbox',
	'--disable-dev-shm-usage',
	'--disable-gpu',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
	'--no-first-run',
];

async function ready(run: (body: () => string) => Promise<string>): Promise<void> {
	const deadline = Date.now() + 30_000;
	while ((await run(() => document.title)) !== 'ready') {
		if (Date.now() > deadline) throw new Error('the test page did not become ready');
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

export function chromiumPage(page: Page): TestPage {
	page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
	const run = (body: (argument: never) => unknown, argument?: unknown) =>
		page.evaluate(body as never, argument);
	const self: TestPage = {
		open: async (address) => {
			await page.goto(address);
			await ready(run as never);
		},
		run: run as TestPage['run'],
		reload: async () => {
			await page.reload();
			await ready(run as never);
		},
		close: () => page.close(),
	};
	return self;
}

export async function launchChromium(profile?: string): Promise<TestBrowser & { context: BrowserContext }> {
	const options = { executablePath: CHROMIUM, headless: true, args: CHROMIUM_FLAGS };
	const context =
		profile === undefined
			? await (await chromium.launch(options)).newContext()
			: await chromium.launchPersistentContext(profile, options);
	return {
		name: 'chromium',
		context,
		page: async () => chromiumPage(await context.newPage()),
		close: async () => {
			const browser = context.browser();
			await context.close();
			await browser?.close();
		},
	};
}

export async function launchFirefox(): Promise<TestBrowser> {
	const browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true });
	return {
		name: 'firefox',
		page: async () => {
			const page = await browser.newPage();
			const run = (body: (argument: never) => unknown, argument?: unknown) =>
				page.evaluate(body as never, argument);
			return {
				open: async (address) => {
					await page.goto(address);
					await ready(run as never);
				},
				run: run as TestPage['run'],
				reload: async () => {
					await page.reload();
					await ready(run as never);
				},
				close: () => page.close(),
			};
		},
		close: () => browser.close(),
	};
}

export const launchers = { chromium: launchChromium, firefox: launchFirefox } as const;
