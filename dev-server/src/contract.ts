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

/** A logical type, as it is written in a schema of a created index or destination. */
export type FieldTypeInput =
	| 'boolean'
	| 'int'
	| 'long'
	| 'float'
	| 'double'
	| 'date'
	| 'time_micros'
	| 'timestamp_micros'
	| 'timestamp_tz_micros'
	| 'string'
	| 'uuid'
	| 'binary'
	| { kind: 'decimal'; precision: number; scale: number }
	| { kind: 'fixed'; length: number }
	| { kind: 'struct'; fields: readonly FieldInput[] }
	| { kind: 'list'; element: FieldTypeInput; required?: boolean }
	| { kind: 'map'; key: FieldTypeInput; value: FieldTypeInput; required?: boolean };

export interface FieldInput {
	name: string;
	type: FieldTypeInput;
	/** The value may not be null. */
	required?: boolean;
	/** Numbered from 1 in the order of the schema where it is left out; provenance names have their own. */
	id?: number;
	doc?: string;
}

/**
 * A value by its field's type: integers of all kinds as bigint or whole number (dates in days, times in microseconds;
 * `Date` works for dates and timestamps), decimals as text, bigint or whole number, uuids as text or 16 bytes, structs
 * as objects by field name or arrays in field order, maps as `Map` or pairs in any order.
 */
export type ValueInput =
	| null
	| undefined
	| boolean
	| number
	| bigint
	| string
	| Date
	| Uint8Array
	| readonly ValueInput[]
	| ReadonlyMap<ValueInput, ValueInput>
	| { readonly [name: string]: ValueInput };

/** Values in field order, or by field name (a name left out is null). */
export type RowInput = readonly ValueInput[] | { readonly [name: string]: ValueInput };

export interface CreateIndexOptions {
	/** Publish a change record for every batch of rows. */
	notify?: boolean;
}

/** What a batch of rows of a created index got: its offsets are those of its change record. */
export interface AppendedRows {
	fromOffset: bigint;
	toOffset: bigint;
	rows: number;
}

export interface DestinationInput {
	name: string;
	schema: readonly FieldInput[];
	/** Rows of the first snapshot; without rows there is none yet. */
	rows?: Iterable<RowInput>;
	source?: { stream: string; topic: string };
	/** By default the namespace `tidemark` and the destination's name. */
	table?: { namespace: readonly string[]; table: string };
}

export interface SnapshotInfo {
	snapshotId: bigint;
	timestampMicros: bigint;
	checkpointRevision: bigint;
	rows: bigint;
	/** Parquet files, within the data folder. */
	files: string[];
}

/** A table of Parquet files that lakehouse queries read. */
export interface DevDestination {
	/** 16 bytes. */
	readonly id: Uint8Array;
	readonly generation: bigint;
	readonly tableUuid: Uint8Array;
	/** From the oldest to the current one. */
	readonly snapshots: readonly SnapshotInfo[];
	/** A snapshot with these rows after those before. */
	append(rows: Iterable<RowInput>): Promise<SnapshotInfo>;
	/** A snapshot with these rows instead of those before. */
	overwrite(rows: Iterable<RowInput>): Promise<SnapshotInfo>;
	/** Lets go of a snapshot that is not the current one. */
	expire(snapshotId: bigint): Promise<void>;
	/** A new generation, empty, in place of this one. */
	supersede(schema?: readonly FieldInput[]): Promise<DevDestination>;
}

export interface Plane {
	/** An index of a given schema, with its first rows. Rejects with the rule that a field or value breaks. */
	createIndex(
		name: string,
		schema: readonly FieldInput[],
		rows?: Iterable<RowInput>,
		options?: CreateIndexOptions,
	): Promise<void>;
	/** Rows for a created index: one batch, visible to queries when this resolves. */
	appendRows(index: string, rows: Iterable<RowInput>): Promise<AppendedRows>;
	createDestination(destination: DestinationInput): Promise<DevDestination>;
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
