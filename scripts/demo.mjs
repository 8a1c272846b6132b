// npm run demo: builds, starts the development server, serves the demo page and prints its address.
//   -- --once     a real browser does the whole story without a window, prints what it saw and exits
//   -- --data DIR keeps the server's data in DIR (default: .data/demo in the clone)
//   -- --port N   of the page (default: any free port)
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { root, setup } from './setup.mjs';

const { values } = parseArgs({
	options: {
		once: { type: 'boolean', default: false },
		data: { type: 'string' },
		port: { type: 'string', default: '0' },
	},
});

try {
	if (values.once) setup('chromium');
	build();
	const temporary =
		values.once && values.data === undefined ? mkdtempSync(join(tmpdir(), 'tidemark-demo-')) : undefined;
	const data = values.data ?? temporary ?? join(root, '.data/demo');
	mkdirSync(data, { recursive: true });
	const { startServer } = await import('../dev-server/dist/index.js');
	const server = await startServer({
		ws: '127.0.0.1:0',
		tcp: '127.0.0.1:0',
		http: `127.0.0.1:${values.port}`,
		dataDir: data,
		staticDir: join(root, 'web-demo/dist'),
		readyAfterMs: 500,
	});
	if (values.once) {
		const { tellStory } = await import('./story.mjs');
		try {
			await tellStory(server.addresses.http);
		} finally {
			await server.close();
			if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
		}
	} else {
		console.log(
			`\nThe demo is at ${server.addresses.http}\nOpen it in two tabs and publish an order. Ctrl-C ends it.`,
		);
		const end = () => void server.close().then(() => process.exit(0));
		process.once('SIGINT', end);
		process.once('SIGTERM', end);
	}
} catch (error) {
	console.error(error instanceof Error ? (error.stack ?? error.message) : error);
	process.exit(1);
}
