/**
 * The seam inside the development server: `log` stores and serves records, `plane` is the managed side on top of it,
 * `wire` speaks the streaming protocol to clients and knows both only by these types.
 */

export interface StoredRecord {
	offset: bigint;
	timestampMicros: bigint;
	payload: Uint8Array;
	/** The raw user header block, as it was sent. */
	headers: Uint8Array;
}

export interface NewRecord {
	payload: Uint8Array;
	/** Raw user header block. */
	headers?: Uint8Array;
}

/** Told after the batch is committed to the log, in order per partition. */
export interface AppendEvent {
	stream: string;
	topic: string;
	partitionId: number;
	baseOffset: bigint;
	count: number;
}

/** The part of the log that the plane needs. Names, not ids: both sides resolve. */
export interface PlaneLog {
	ensureStream(stream: string): Promise<void>;
	ensureTopic(stream: string, topic: string, partitions: number): Promise<void>;
	partitionCount(stream: string, topic: string): number | undefined;
	topicCreatedAtMicros(stream: string, topic: string): bigint | undefined;
	/** Another value says that the partition's offsets began anew: it was purged, or its topic recreated. */
	partitionEpoch?(stream: string, topic: string, partitionId: number): bigint | undefined;
	/** Next offset to be written; 0 for an empty partition. */
	end(stream: string, topic: string, partitionId: number): bigint;
	/** First offset still retained. */
	start(stream: string, topic: string, partitionId: number): bigint;
	read(
		stream: string,
		topic: string,
		partitionId: number,
		from: bigint,
		count: number,
	): Promise<StoredRecord[]>;
	append(stream: string, topic: string, partitionId: number, records: NewRecord[]): Promise<bigint>;
	onAppend(listener: (event: AppendEvent) => void): void;
	onTopicDeleted(listener: (stream: string, topic: string) => void): void;
}

export interface CallContext {
	userId: number;
	/** Unique per connection, for things that end with it. */
	connectionId: number;
}

export interface Plane {
	/** Answers a managed command (code >= 1,000,000) with the reply body. Never rejects. */
	handle(code: number, body: Uint8Array, context: CallContext): Promise<Uint8Array>;
	connectionClosed(connectionId: number): void;
	/** Takes a fault switch that the wire does not know; false when the plane does not know it either. */
	fault?(fault: { kind: string } & Record<string, unknown>): boolean | Promise<boolean>;
	/** Waits for the projector to have applied everything committed so far. */
	settle(): Promise<void>;
	close(): Promise<void>;
}

export interface PlaneOptions {
	/** Folder for the database file, or undefined for memory. */
	dataDir?: string;
	/** How long hello reports `starting` before it is ready. */
	readyAfterMs: number;
	feedPartitions: number;
	streamTenancy: boolean;
}
