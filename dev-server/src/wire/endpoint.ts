import { isLoopback } from './access.js';

export interface Endpoint {
	host: string;
	port: number;
}

export function hostText(endpoint: Endpoint): string {
	return endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
}

/** Reads `host:port`; without a host it is loopback. */
export function parseEndpoint(text: string): Endpoint {
	const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
	if (!match || Number(match[3]) > 65_535) throw new Error(`not an address of the form host:port: ${text}`);
	return { host: match[1] ?? (match[2] || '127.0.0.1'), port: Number(match[3]) };
}

/** An address to listen on: loopback, unless others are permitted. */
export function parseListener(text: string | undefined, allowRemote: boolean): Endpoint | undefined {
	if (text === undefined) return undefined;
	const endpoint = parseEndpoint(text);
	if (!allowRemote && !isLoopback(endpoint.host)) {
		throw new Error(`${endpoint.host} is not a loopback address; --allow-remote permits it`);
	}
	return endpoint;
}
