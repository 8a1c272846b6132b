// The demo's story, told by a real Chromium on the built page: publish in one tab, see the change and the row in
// another, reload, close for a while, kill the browser, and go on exactly after the last committed change.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { CHROMIUM, CHROMIUM_FLAGS } from './chromium.mjs';

const launch = (profile) =>
	chromium.launchPersistentContext(profile, {
		executablePath: CHROMIUM,
		headless: true,
		args: CHROMIUM_FLAGS,
		viewport: { width: 1440, height: 1000 },
	});

async function open(context, address) {
	const page = await context.newPage();
	page.on('pageerror', (error) => console.error(`page error: ${error.message}`));
	await page.goto(address);
	await page.waitForFunction(() => document.getElementById('state-name')?.textContent === 'ready', null, {
		timeout: 60_000,
	});
	return page;
}

const texts = (page, selector) => page.locator(selector).allTextContents();
const rangeLines = async (page) =>
	(await texts(page, '#feed li:not(.gap) span')).filter((line) => line.startsWith('view advanced')).reverse();

async function publish(page, total) {
	await page.fill('#total', String(total));
	await page.click('#send');
	const note = page.locator('#publish-result');
	await page.waitForFunction(
		(before) => {
			const text = document.getElementById('publish-result')?.textContent ?? '';
			return text.startsWith('Published order') && text !== before;
		},
		await note.getAttribute('data-seen'),
	);
	const text = (await note.textContent()) ?? '';
	await note.evaluate((element, seen) => element.setAttribute('data-seen', seen), text);
	return /order (\S+)\./.exec(text)?.[1] ?? '';
}

async function waitForRanges(page, count) {
	await page.waitForFunction(
		(wanted) => document.querySelectorAll('#feed li:not(.gap)').length >= wanted,
		count,
		{ timeout: 30_000 },
	);
	return rangeLines(page);
}

function expectSame(what, actual, expected) {
	if (JSON.stringify(actual) !== JSON.stringify(expected)) {
		throw new Error(`${what}: got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
	}
}

/** Every range of the list starts right after the one before it. */
function expectContinuous(lines) {
	const ranges = lines.map((line) => /offsets (\d+)\.\.(\d+)/.exec(line).slice(1).map(BigInt));
	for (const [index, [from]] of ranges.entries()) {
		const before = index === 0 ? -1n : ranges[index - 1][1];
		if (from !== before + 1n) throw new Error(`a change is missing or came twice before: ${lines[index]}`);
	}
}

export async function tellStory(address) {
	const profile = mkdtempSync(join(tmpdir(), 'tidemark-profile-'));
	const random = () => Math.floor(Math.random() * 1_000_000) / 100;
	try {
		let context = await launch(profile);
		let reading = await open(context, address);
		const writing = await open(context, address);

		const published = new Map();
		const send = async (page) => {
			const total = random();
			published.set(await publish(page, total), total);
		};
		await send(writing);
		await send(writing);
		for (const line of await waitForRanges(reading, 2)) console.log(line);

		await reading.reload();
		await waitForRanges(reading, 2);
		await send(writing);
		let lines = await waitForRanges(reading, 3);
		expectContinuous(lines);
		console.log(`after a reload: ${lines.at(-1)}`);

		await reading.close();
		await send(writing);
		await send(writing);
		reading = await open(context, address);
		lines = await waitForRanges(reading, 5);
		expectContinuous(lines);
		for (const line of lines.slice(3)) console.log(`after closing the tab: ${line}`);

		// A killed browser runs no handler of the page.
		const browser = context.browser();
		const session = browser ? await browser.newBrowserCDPSession() : await context.newCDPSession(reading);
		await session.send('Browser.crash').catch(() => {});
		await context.close().catch(() => {});
		context = await launch(profile);
		reading = await open(context, address);
		const second = await open(context, address);
		await send(second);
		lines = await waitForRanges(reading, 6);
		expectContinuous(lines);
		console.log(`after killing the browser: ${lines.at(-1)}`);

		const expected = [...published].map(([id, total]) => `${id} ${total.toFixed(2)}`).sort();
		await second.waitForFunction(
			(count) => document.querySelectorAll('#orders tr').length >= count,
			expected.length,
		);
		const rows = await second
			.locator('#orders tr')
			.evaluateAll((all) => all.map((row) => [row.cells[0].textContent, row.cells[3].textContent].join(' ')));
		expectSame(
			'the rows of the index',
			rows.filter((row) => published.has(row.split(' ')[0])).sort(),
			expected,
		);
		console.log('rows read from the second page:');
		for (const row of expected) console.log(`  ${row}`);
		await context.close();
	} finally {
		rmSync(profile, { recursive: true, force: true });
	}
}
