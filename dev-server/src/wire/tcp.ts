import { createServer, type Server, type Socket } from 'node:net';
import { MAX_FRAME } from './frame.js';
import { Splitter } from './splitter.js';
import { HIGH_WATER, type Transport } from './transport.js';

class TcpTransport implements Transport {
	readonly kind = 1;
	readonly address: string;

	constructor(readonly socket: Socket) {
		this.address = `${socket.remoteAddress}:${socket.remotePort}`;
	}

	send(frame: Buffer): void {
		this.socket.write(frame);
	}

	close(): void {
		this.socket.end();
	}

	destroy(): void {
		this.socket.destroy();
	}

	sendPart(frame: Buffer, bytes: number): void {
		this.socket.write(frame.subarray(0, bytes), () => this.socket.destroy());
	}

	sendText(text: string): void {
		this.socket.write(text);
	}

	pause(): void {
		this.socket.pause();
	}

	resume(): void {
		this.socket.resume();
	}

	drained(): Promise<void> | undefined {
		if (this.socket.writableLength < HIGH_WATER) return undefined;
		return new Promise((done) => {
			const finish = (): void => {
				this.socket.off('drain', finish).off('close', finish);
				done();
			};
			this.socket.on('drain', finish).on('close', finish);
		});
	}
}

export interface Accepted {
	receive(frame: Buffer): void;
	closed(): void;
}

/** Listens for plain sequences of frames. */
export function tcpListener(accept: (transport: Transport) => Accepted | undefined): Server {
	return createServer({ noDelay: true }, (socket) => {
		socket.on('error', () => socket.destroy());
		const transport = new TcpTransport(socket);
		const connection = accept(transport);
		if (!connection) {
			socket.destroy();
			return;
		}
		const splitter = new Splitter(MAX_FRAME, (frame) => connection.receive(frame));
		socket.on('data', (chunk: Buffer) => {
			if (!splitter.push(chunk)) socket.end();
		});
		socket.on('close', () => connection.closed());
	});
}
