import { type DevServer, type ServerOptions, startServer } from '../../../dev-server/dist/index.js';
import { PAGE_FOLDER } from './site.js';

export type { DevServer };

/** A development server that serves the test page under its strict policy. */
export function testServer(options: ServerOptions = {}): Promise<DevServer & { ws: string; http: string }> {
	return startServer({ ws: '127.0.0.1:0', http: '127.0.0.1:0', staticDir: PAGE_FOLDER, ...options }).then(
		(server) =>
			Object.assign(server, { ws: server.addresses.ws as string, http: server.addresses.http as string }),
	);
}

/** Bytes of each record that `append` makes. */
export const PAYLOAD = 1_000;

/** Appends records without a client. */
export async function append(
	server: DevServer,
	stream: string,
	topic: string,
	count: number,
	partitionId = 0,
): Promise<void> {
	const payload = new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(PAYLOAD - 11) }));
	await server.log.append(
		stream,
		topic,
		partitionId,
		Array.from({ length: count }, () => ({ payload })),
	);
}

export async function createTopic(
	server: DevServer,
	stream: string,
	topic: string,
	partitions = 1,
): Promise<void> {
	await server.log.ensureStream(stream);
	await server.log.ensureTopic(stream, topic, partitions);
}
