import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A server whose behaviour a test writes by hand. */
export interface Upstream {
	address: string;
	sockets: Socket[];
	close(): void;
}

export function upstream(onSocket: (socket: Socket) => void, tls?: TlsOptions): Promise<Upstream> {
	const sockets: Socket[] = [];
	const take = (socket: Socket): void => {
		sockets.push(socket);
		socket.on('error', () => {});
		onSocket(socket);
	};
	const server: Server = tls ? createTlsServer(tls, take) : createServer(take);
	server.on('tlsClientError', () => {});
	return new Promise((done) => {
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address() as AddressInfo;
			done({
				address: `127.0.0.1:${port}`,
				sockets,
				close() {
					server.close();
					for (const socket of sockets) socket.destroy();
				},
			});
		});
	});
}

/** A frame of any size whose body tells it from others. */
export function frame(size: number, mark = 0): Buffer {
	const bytes = Buffer.alloc(size, mark & 0xff);
	bytes.fill(0, 0, 256);
	bytes.writeUInt32LE(size, 48);
	bytes[60] = 5;
	bytes.writeBigUInt64LE(BigInt(mark), 168);
	return bytes;
}

export const markOf = (bytes: Buffer): number => Number(bytes.readBigUInt64LE(168));
