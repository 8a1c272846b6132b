import type { IncomingMessage } from 'node:http';

export interface AccessOptions {
	/** Allowed `Origin` values besides the server's own pages; a port of `*` allows any. */
	origins: readonly string[];
	/** Allowed `Host` names besides loopback. */
	hosts: readonly string[];
	/** Take any `Host`. */
	anyHost: boolean;
}

export function isLoopback(host: string): boolean {
	const name = host.replace(/^\[|\]$/g, '').toLowerCase();
	return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/**
 * Who may open a socket or call the API from a page. Any page can reach a loopback port, so a browser's request must
 * name an allowed origin; a request without one does not come from a page.
 */
export class Access {
	readonly #origins: string[];
	readonly #options: AccessOptions;

	constructor(options: AccessOptions) {
		this.#options = options;
		this.#origins = [...options.origins];
	}

	/** The pages that this server serves itself. */
	allowOwnPages(port: number): void {
		for (const host of ['127.0.0.1', 'localhost', '[::1]']) this.#origins.push(`http://${host}:${port}`);
	}

	/** Why the request is refused, or undefined. */
	refusal(request: IncomingMessage): string | undefined {
		return this.hostRefusal(request) ?? this.originRefusal(request);
	}

	/** A page of another site may point its own name at loopback: then the Host is not a loopback name. */
	hostRefusal(request: IncomingMessage): string | undefined {
		if (this.#options.anyHost) return undefined;
		const host = (request.headers.host ?? '').replace(/:\d+$/, '');
		if (isLoopback(host) || this.#options.hosts.includes(host)) return undefined;
		return 'Host is not allowed';
	}

	originRefusal(request: IncomingMessage): string | undefined {
		const origin = request.headers.origin;
		if (origin === undefined || this.#allows(origin)) return undefined;
		return 'Origin is not allowed';
	}

	#allows(origin: string): boolean {
		if (this.#origins.includes(origin)) return true;
		const anyPort = origin.replace(/:\d+$/, ':*');
		return anyPort !== origin && this.#origins.includes(anyPort);
	}
}
