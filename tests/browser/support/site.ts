import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PAGE_FOLDER = fileURLToPath(new URL('../../../build/browser-page', import.meta.url));

export interface Answer {
	status?: number;
	type?: string;
	body: string | Uint8Array;
}

export interface Site {
	address: string;
	/** What to answer instead of the file, by the path. */
	answers: ((path: string, file: Uint8Array) => Answer | undefined) | undefined;
	close(): Promise<void>;
}

const TYPES: Record<string, string> = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.wasm': 'application/wasm',
};

/** Serves the test page with another policy than the development server's, or with wrong answers. */
export async function serveSite(policy: string): Promise<Site> {
	const site: Site = { address: '', answers: undefined, close: async () => {} };
	const server = createServer(async (request, response) => {
		const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
		const name = path === '/' ? '/index.html' : path;
		const file = await readFile(join(PAGE_FOLDER, name)).catch(() => undefined);
		const answer = site.answers?.(name, file ?? new Uint8Array());
		response.setHeader('Content-Security-Policy', policy);
		const body = answer?.body ?? file;
		response.writeHead(answer?.status ?? (body === undefined ? 404 : 200), {
			'Content-Type': answer?.type ?? TYPES[extname(name)] ?? 'text/plain',
		});
		response.end(body ?? 'not found');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	site.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	site.close = () =>
		new Promise((resolve) => {
			server.close(() => resolve());
			server.closeAllConnections();
		});
	return site;
}
