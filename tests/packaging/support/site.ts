import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const TYPES: Record<string, string> = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.mjs': 'text/javascript; charset=utf-8',
	'.wasm': 'application/wasm',
};

export interface Site {
	address: string;
	close(): Promise<void>;
}

/** Serves a folder under the strict policy; an import map, which is an inline script, is allowed by its hash. */
export async function serve(folder: string, scripts = "'self' 'wasm-unsafe-eval'"): Promise<Site> {
	const server = createServer(async (request, response) => {
		const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
		const body = await readFile(join(folder, path)).catch(() => undefined);
		const map = /<script type="importmap">(.*?)<\/script>/s.exec(body?.toString('latin1') ?? '')?.[1];
		const hash =
			map === undefined ? '' : ` 'sha256-${createHash('sha256').update(map, 'latin1').digest('base64')}'`;
		response.writeHead(body === undefined ? 404 : 200, {
			'Content-Type': TYPES[extname(path)] ?? 'text/plain',
			'Content-Security-Policy': `default-src 'self'; script-src ${scripts}${hash}; connect-src 'self' ws:`,
		});
		response.end(body ?? 'not found');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}
