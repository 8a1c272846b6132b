import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Access } from '../wire/access.js';
import { serveFile } from './files.js';

export interface HttpOptions {
	access: Access;
	/** Folder of the page; undefined serves the API only. */
	staticDir: string | undefined;
	/** What a page needs to connect, as served under /tidemark-dev.json. */
	info: () => Record<string, unknown>;
	webSocketPort: () => number;
	/** Takes a POST to /faults. */
	fault: (body: unknown) => Promise<unknown>;
	status: () => Record<string, unknown>;
}

const MAX_BODY = 1 << 20;

/** The page, what it needs to connect, and the switches. */
export function httpServer(options: HttpOptions): Server {
	return createServer((request, response) => {
		handle(options, request, response).catch((error: unknown) => {
			const message = error instanceof Error ? error.message : String(error);
			if (response.headersSent) response.destroy();
			else json(response, error instanceof SyntaxError ? 400 : 422, { error: message });
		});
	});
}

async function handle(
	options: HttpOptions,
	request: IncomingMessage,
	response: ServerResponse,
): Promise<void> {
	harden(options, response);
	const refusal = options.access.hostRefusal(request);
	if (refusal) return json(response, 403, { error: refusal });
	allowOrigin(options.access, request, response);
	if (request.method === 'OPTIONS') {
		response.writeHead(204).end();
		return;
	}
	const path = new URL(request.url ?? '/', 'http://localhost').pathname;
	const reading = request.method === 'GET' || request.method === 'HEAD';
	if (path === '/faults' || path === '/status') {
		const foreign = options.access.originRefusal(request);
		if (foreign) return json(response, 403, { error: foreign });
		if (path === '/status') {
			return reading ? json(response, 200, options.status()) : json(response, 405, { error: 'GET only' });
		}
		return faults(options, request, response);
	}
	if (!reading) return json(response, 405, { error: 'GET only' });
	if (path === '/tidemark-dev.json') return json(response, 200, options.info());
	if (options.staticDir === undefined) return json(response, 404, { error: 'no page is served here' });
	await serveFile(options.staticDir, path, request, response);
}

async function faults(
	options: HttpOptions,
	request: IncomingMessage,
	response: ServerResponse,
): Promise<void> {
	if (request.method !== 'POST') return json(response, 405, { error: 'POST only' });
	// A page of another site can post without asking only with the types of a form.
	const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
	if (type !== 'application/json')
		return json(response, 415, { error: 'Content-Type must be application/json' });
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of request as AsyncIterable<Buffer>) {
		length += chunk.length;
		if (length > MAX_BODY) return json(response, 413, { error: 'body is too large' });
		chunks.push(chunk);
	}
	json(response, 200, await options.fault(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
}

/** Lets a page of an allowed origin read the answers; a page of any other never gets past its browser. */
function allowOrigin(access: Access, request: IncomingMessage, response: ServerResponse): void {
	const { origin } = request.headers;
	response.setHeader('Vary', 'Origin');
	if (origin === undefined || access.originRefusal(request)) return;
	response.setHeader('Access-Control-Allow-Origin', origin);
	response.setHeader('Access-Control-Allow-Methods', 'GET, POST');
	response.setHeader('Access-Control-Allow-Headers', 'Content-Type');
}

function harden(options: HttpOptions, response: ServerResponse): void {
	const port = options.webSocketPort();
	const sockets = port ? ` ws://127.0.0.1:${port} ws://localhost:${port}` : '';
	response.setHeader(
		'Content-Security-Policy',
		"default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; " +
			`connect-src 'self'${sockets}; img-src 'self' data:; object-src 'none'; base-uri 'none'; ` +
			"form-action 'self'; frame-ancestors 'none'",
	);
	response.setHeader('X-Content-Type-Options', 'nosniff');
	response.setHeader('Referrer-Policy', 'no-referrer');
	response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
}

function json(response: ServerResponse, status: number, value: unknown): void {
	const text = JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? item.toString() : item));
	response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
	response.end(`${text}\n`);
}
