import { type DevServer, type ServerOptions, startServer } from '../../../dev-server/dist/index.js';

export type Server = DevServer & { readonly ws: string; append(from: number, count: number): Promise<void> };

/** A development server whose topic `pack/ten` holds the records `{ n: 0 }` to `{ n: 9 }`. */
export async function tenServer(options: ServerOptions = {}): Promise<Server> {
	const server = await startServer({
		ws: '127.0.0.1:0',
		plane: false,
		origins: ['http://127.0.0.1:*', 'http://localhost:*'],
		...options,
	});
	await server.log.ensureStream('pack');
	await server.log.ensureTopic('pack', 'ten', 1);
	const append = async (from: number, count: number): Promise<void> => {
		const records = Array.from({ length: count }, (_, i) => ({
			payload: new TextEncoder().encode(JSON.stringify({ n: from + i })),
		}));
		await server.log.append('pack', 'ten', 0, records);
	};
	await append(0, 10);
	return Object.assign(server, { ws: server.addresses.ws as string, append });
}

export const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
