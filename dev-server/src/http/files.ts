import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

const TYPES = new Map([
	['.html', 'text/html; charset=utf-8'],
	['.js', 'text/javascript; charset=utf-8'],
	['.mjs', 'text/javascript; charset=utf-8'],
	['.css', 'text/css; charset=utf-8'],
	['.json', 'application/json'],
	['.map', 'application/json'],
	['.webmanifest', 'application/manifest+json'],
	['.wasm', 'application/wasm'],
	['.svg', 'image/svg+xml'],
	['.png', 'image/png'],
	['.ico', 'image/x-icon'],
	['.txt', 'text/plain; charset=utf-8'],
	['.woff2', 'font/woff2'],
]);

/** Serves a file below `root`; a folder serves its index.html. Links that lead out of `root` are not followed. */
export async function serveFile(
	root: string,
	path: string,
	request: IncomingMessage,
	response: ServerResponse,
): Promise<void> {
	const found = await locate(root, path);
	if (!found) {
		response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('not found\n');
		return;
	}
	response.writeHead(200, {
		'Content-Type': TYPES.get(extname(found.path)) ?? 'application/octet-stream',
		'Content-Length': found.size,
		'Cache-Control': 'no-cache',
	});
	if (request.method === 'HEAD') response.end();
	else await pipeline(createReadStream(found.path), response);
}

async function locate(root: string, path: string): Promise<{ path: string; size: number } | undefined> {
	try {
		const base = await realpath(root);
		let file = await realpath(join(base, decodeURIComponent(path)));
		if ((await stat(file)).isDirectory()) file = await realpath(join(file, 'index.html'));
		const info = await stat(file);
		if (!file.startsWith(base + sep) || !info.isFile()) return undefined;
		return { path: file, size: info.size };
	} catch {
		return undefined;
	}
}
