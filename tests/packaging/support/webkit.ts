import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import type { TestPage } from '../../browser/support/browsers.js';

/** The part of selenium's driver that is used. */
interface Driver {
	get(address: string): Promise<void>;
	getTitle(): Promise<string>;
	executeAsyncScript<T>(script: string, ...args: unknown[]): Promise<T>;
	manage(): { setTimeouts(timeouts: { script: number }): Promise<void> };
	quit(): Promise<void>;
}

interface Selenium {
	Builder: new () => {
		usingServer(address: string): { withCapabilities(capabilities: object): { build(): Promise<Driver> } };
	};
}

function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = createServer().listen(0, '127.0.0.1', () => {
			const { port } = server.address() as AddressInfo;
			server.close(() => resolve(port));
		});
	});
}

/** WebKitGTK's test browser on a screen of its own. `requireFrom` finds selenium. */
export async function launchWebKit(
	requireFrom: (name: string) => unknown,
): Promise<{ page(): Promise<Pick<TestPage, 'open' | 'run' | 'close'>>; close(): Promise<void> }> {
	const { Builder } = requireFrom('selenium-webdriver') as Selenium;
	const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x800x24', '-nolisten', 'tcp'], {
		stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
	});
	const display = await new Promise<string>((resolve, reject) => {
		screen.once('error', reject);
		screen.stdio[3]?.once('data', (chunk: Buffer) => resolve(String(chunk).trim()));
	});
	const port = await freePort();
	const service: ChildProcess = spawn('WebKitWebDriver', ['--host=127.0.0.1', `--port=${port}`], {
		stdio: 'ignore',
		env: {
			...process.env,
			DISPLAY: `:${display}`,
			LIBGL_ALWAYS_SOFTWARE: '1',
			WEBKIT_DISABLE_COMPOSITING_MODE: '1',
			GDK_BACKEND: 'x11',
		},
	});
	const stop = (): void => {
		service.kill();
		screen.kill();
	};
	try {
		const files = execFileSync('dpkg', ['-L', 'libwebkit2gtk-4.1-0'], { encoding: 'utf8' }).split('\n');
		const binary = files.find((name) => name.endsWith('/MiniBrowser'));
		const driver = await connect(new Builder(), `http://127.0.0.1:${port}`, binary);
		await driver.manage().setTimeouts({ script: 30_000 });
		const page: Pick<TestPage, 'open' | 'run' | 'close'> = {
			open: async (address) => {
				await driver.get(address);
				for (let i = 0; (await driver.getTitle()) !== 'ready'; i++) {
					if (i > 500) throw new Error('the test page did not become ready');
					await new Promise((resolve) => setTimeout(resolve, 20));
				}
			},
			run: (async (body: (argument: unknown) => unknown, argument: unknown) => {
				const script = `const done = arguments[arguments.length - 1];
					Promise.resolve((${String(body)})(arguments[0])).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
				const end = await driver.executeAsyncScript<{ value?: unknown; error?: string }>(script, argument);
				if (end.error !== undefined) throw new Error(end.error);
				return end.value;
			}) as TestPage['run'],
			close: async () => {},
		};
		return {
			page: async () => page,
			close: async () => {
				await driver.quit();
				stop();
			},
		};
	} catch (error) {
		stop();
		throw error;
	}
}

/** The service needs a moment before it listens. */
async function connect(
	builder: InstanceType<Selenium['Builder']>,
	address: string,
	binary: string | undefined,
): Promise<Driver> {
	const capabilities = {
		browserName: 'MiniBrowser',
		'webkitgtk:browserOptions': { binary, args: ['--automation'] },
	};
	for (let attempt = 1; ; attempt++) {
		try {
			return await builder.usingServer(address).withCapabilities(capabilities).build();
		} catch (error) {
			if (attempt === 20) throw error;
			await new Promise((resolve) => setTimeout(resolve, 250));
		}
	}
}
