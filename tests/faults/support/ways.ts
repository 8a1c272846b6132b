import {
	type DevServer,
	type ServerOptions,
	startGateway,
	startServer,
} from '../../../dev-server/src/index.js';
import type { Dialect } from '../../../js/index.js';

/** A way to reach a server: in a dialect, directly or through the gateway. */
export interface Way {
	readonly name: string;
	readonly dialect: Dialect;
	readonly gateway: boolean;
}

export interface Reached {
	readonly server: DevServer;
	/** Where a client connects. */
	readonly url: string;
	close(): Promise<void>;
}

export const DIALECTS: readonly Dialect[] = ['s11', 'v12', 'snapshot'];

export const WAYS: readonly Way[] = [
	...DIALECTS.map((dialect) => ({ name: dialect, dialect, gateway: false })),
	{ name: 's11 through the gateway', dialect: 's11', gateway: true },
	{ name: 'v12 through the gateway', dialect: 'v12', gateway: true },
];

export async function reach(way: Way, options: ServerOptions = {}): Promise<Reached> {
	const { dialect } = way;
	if (!way.gateway) {
		const server = await startServer({ ...options, dialect, ws: '127.0.0.1:0' });
		return { server, url: server.addresses.ws as string, close: () => server.close() };
	}
	// The server has no WebSocket at all.
	const server = await startServer({ ...options, dialect, tcp: '127.0.0.1:0' });
	const gateway = await startGateway({ ws: '127.0.0.1:0', upstream: server.addresses.tcp as string });
	return {
		server,
		url: gateway.address,
		close: async () => {
			await gateway.close();
			await server.close();
		},
	};
}
