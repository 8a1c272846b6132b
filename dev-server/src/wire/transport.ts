/** One connection's way to its client; WebSocket and TCP carry the same frames. */
export interface Transport {
	/** As get-me reports it: 1 TCP, 4 WebSocket. */
	readonly kind: 1 | 4;
	readonly address: string;
	send(frame: Buffer): void;
	/** Ends the connection in an orderly way, without a status code. */
	close(): void;
	/** Cuts the connection. */
	destroy(): void;
	/** Sends the beginning of a frame and cuts the connection. */
	sendPart(frame: Buffer, bytes: number): void;
	/** Sends a text message where frames belong (on TCP: text bytes). */
	sendText(text: string): void;
	/** Stops and goes on reading from the client. */
	pause(): void;
	resume(): void;
	/** Resolves when little enough waits to be sent; undefined when that is so already. */
	drained(): Promise<void> | undefined;
}

/** Bytes that may wait in a socket before the next request is served. */
export const HIGH_WATER = 4 << 20;
