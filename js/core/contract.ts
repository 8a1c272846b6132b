/**
 * What the rest of js/ knows of the core: plain values in, plain values out. `core.ts` implements it over wasm, tests
 * may implement it over a script. Nothing here is public API.
 */

/** Monotonic and wall time in milliseconds. Handed to every call: the core has no clock. */
export interface Now {
	mono: number;
	wall: number;
}

export type Dialect = 's11' | 'v12' | 'snapshot';

export type ConnectionState =
	| 'idle'
	| 'dialing'
	| 'authenticating'
	| 'ready'
	| 'waiting'
	| 'paused'
	| 'needs-auth'
	| 'closed';

/** What went wrong, as a value. `js/errors` turns it into the public error classes. */
export interface CoreError {
	kind:
		| 'invalid' // refused locally, or a reply that a rule refuses
		| 'codec' // bytes that do not decode
		| 'protocol' // well formed, but not an acceptable answer
		| 'unsupported' // capability off: nothing was sent
		| 'command' // the server refused: `code` (+ `codeName`)
		| 'surface' // a typed managed failure: `surface`, `detail`
		| 'eviction' // the server ended the session: `code` is the reason
		| 'timeout'
		| 'transport'
		| 'cancelled'
		| 'ambiguous' // unknown outcome of a mutation: `operationId`
		| 'publish' // `committed`, `unconfirmed`
		| 'closed';
	message: string;
	/** Rule name of the wire contract, with the byte position and the dotted field path it was broken at. */
	rule?: string;
	position?: number;
	field?: string;
	code?: number;
	codeName?: string;
	retryable?: boolean;
	surface?: string;
	feature?: string;
	operationId?: bigint;
	committed?: number;
	unconfirmed?: number;
	detail?: unknown;
}

/** Where a reader stands: feed partition to next offset to read; 2^64 once the last offset that there can be was read. */
export type Positions = ReadonlyMap<number, bigint>;

/** What tells a recreated or purged topic from a quiet one. Opaque to everyone but the core; storable as it is. */
export interface SourceIdentity {
	streamId: number;
	streamCreatedAtMicros: bigint;
	topicId: number;
	topicCreatedAtMicros: bigint;
	partitions: { id: number; createdAtMicros: bigint }[];
}

export interface Gap {
	partitionId: number;
	/** The offset that was asked for. */
	asked: bigint;
	/** The first offset that is still there; undefined when nothing is. */
	firstAvailable: bigint | undefined;
	reason: 'trimmed' | 'missing_inside' | 'trimmed_whole' | 'rewound' | 'recreated' | 'partition_removed';
}

export interface Skipped {
	malformed: number;
	version: number;
	otherIndex: number;
}

/** Columns of one batch, all of `count` entries, copied out of wasm memory: the caller owns them. */
export interface ChangeColumns {
	kind: 'changes';
	count: number;
	/** Of the feed topic: where the record itself lies. */
	feedPartitionId: Uint32Array;
	offset: BigUint64Array;
	timestampMicros: BigUint64Array;
	/** Of the change: what the record says. */
	partitionId: Uint32Array;
	fromOffset: BigUint64Array;
	toOffset: BigUint64Array;
	rows: Uint32Array;
	/** Ids into `names`. `stream` is 0xffffffff where the record names none. */
	index: Uint32Array;
	stream: Uint32Array;
	/** Grows only, shared by all batches of one core. */
	names: readonly string[];
}

export interface RecordColumns {
	kind: 'records';
	count: number;
	partitionId: Uint32Array;
	offset: BigUint64Array;
	timestampMicros: BigUint64Array;
	originTimestampMicros: BigUint64Array;
	/** 16 bytes per record. */
	id: Uint8Array;
	/** `count + 1` offsets into `bytes`; payload i is [payloadStart[i], headersStart[i]), headers up to payloadStart[i+1]. */
	payloadStart: Uint32Array;
	headersStart: Uint32Array;
	bytes: Uint8Array;
}

/** One advance of a materialized index: the source range that landed. */
export interface ChangeRow {
	v: number;
	index: string;
	partitionId: number;
	fromOffset: bigint;
	toOffset: bigint;
	rows: number;
	stream?: string;
}

export interface ReaderBatch {
	/** Empty where the reader was opened for rows. */
	columns: ChangeColumns | RecordColumns;
	rows?: readonly ChangeRow[];
	/** After this batch: every partition's next offset to read. */
	positions: Positions;
	identity: SourceIdentity | undefined;
	/** Nothing more was there when the last reply was made. */
	caughtUp: boolean;
	/** Counted since the reader was opened. */
	skipped: Skipped;
	/** Lost history found while this batch was read; they come before its records. */
	gaps: readonly Gap[];
	/** Partitions that exist but are over the reader's cap. */
	unreadPartitions: number;
}

export interface ReaderOptions {
	stream: string;
	topic: string;
	/** `watch` keeps the vendor's rules (no gaps, missing topic reads as empty); `durable` looks for gaps and waits. */
	mode: 'watch' | 'durable';
	content: 'changes' | 'records';
	/** Only changes of this index (the scoped name). */
	index?: string;
	/** Records per request, default 1,000. */
	batch?: number;
	/** Changes as objects, made without columns that the caller owns. */
	rows?: boolean;
	/** Byte cap of one batch in durable mode, default 8 MiB. */
	byteCap?: number;
	from?: 'beginning' | 'now' | Positions;
	identity?: SourceIdentity;
	onHistoryLost?: 'earliest' | 'now';
}

export type CoreEvent =
	| {
			type: 'connection';
			state: ConnectionState;
			attempts: number;
			dialect?: Dialect;
			/** Why the last connection ended, or why it does not come up. */
			error?: CoreError;
			/** Monotonic ms of the next dial, in state `waiting`. */
			dialAt?: number;
	  }
	/** Open a socket now. Report everything of it under this generation; older generations are ignored. */
	| { type: 'dial'; generation: number }
	/** Ask the credentials callback; answer with credentials() or credentialsFailed(). The core keeps the deadline. */
	| { type: 'credentials'; generation: number }
	/** Detach the handlers of this socket and close it, without waiting. */
	| { type: 'drop'; generation: number }
	/** Nothing else is answered while the server waits for records: whoever follows wants a connection of its own. */
	| { type: 'line-held' }
	| { type: 'capabilities'; capabilities: unknown }
	| { type: 'result'; ticket: number; value: unknown }
	| { type: 'failure'; ticket: number; error: CoreError }
	| { type: 'batch'; reader: number; batch: ReaderBatch }
	| { type: 'reader-failure'; reader: number; error: CoreError }
	| { type: 'reader-state'; reader: number; state: 'reading' | 'idle' | 'waiting_for_source' };

export type Credentials = { username: string; password: string } | { token: string };

export type WakeCause = 'visible' | 'online' | 'focus' | 'pageshow' | 'call';

export interface CoreOptions {
	dialects?: readonly Dialect[];
	/** Loopback servers are dialled again without a first wait. */
	loopback?: boolean;
	/** The connection carries one follower and nothing that minds when the server holds the line. */
	dedicated?: boolean;
	connectTimeoutMs?: number;
	requestTimeoutMs?: number;
	watchdogMs?: number;
	credentialsTimeoutMs?: number;
	/** Configured capabilities that an announce adds to. */
	capabilities?: unknown;
}

export interface CallOptions {
	/** The result's names are not turned into camelCase: they are a user's own. */
	resultAsIs?: boolean;
	timeoutMs?: number;
	/** Send it although the capability that it needs is off. */
	ungated?: boolean;
	/**
	 * Of create stream (202) and create topic (302): it is to exist afterwards, whoever made it. "Name exists" is success
	 * (value null), and after a lost connection it is looked up and, where missing, created again.
	 */
	ensure?: boolean;
}

/** One record to publish. Header rules are the core's. */
export interface PublishRecord {
	payload: Uint8Array;
	contentType?: string | number;
	projectionRef?: string;
	schemaId?: number;
	schemaFingerprint?: Uint8Array;
	indexes?: readonly (readonly [string, string])[];
	headers?: readonly (readonly [string, string])[];
	inlinePayload?: boolean;
}

export interface PublishArgs {
	stream: string;
	topic: string;
	/** At most one of the two; neither is balanced. */
	partitionKey?: Uint8Array;
	partitionId?: number;
	records: readonly PublishRecord[];
	timeoutMs?: number;
	maxRetries?: number;
	retryBackoffMs?: number;
}

/** The one object that js/ drives. Every method may queue output: call `flush` (transmit and event until empty) after it. */
export interface CoreClient {
	connect(now: Now): void;
	opened(generation: number, now: Now): void;
	credentials(generation: number, credentials: Credentials, now: Now): void;
	credentialsFailed(generation: number, reason: string, now: Now): void;
	receive(generation: number, frame: Uint8Array, now: Now): void;
	/** The socket ended or never opened. A text message is reported as `textMessage`. */
	lost(generation: number, info: { closeCode?: number; textMessage?: boolean }, now: Now): void;
	pause(reason: string, now: Now): void;
	resume(reason: string, now: Now): void;
	wake(cause: WakeCause, now: Now): void;
	reconnect(now: Now): void;
	close(now: Now): void;
	expire(now: Now): void;
	/** Monotonic ms when `expire` wants to be called next. */
	deadline(): number | undefined;

	/** The next frame to send, a copy that the caller owns, and the socket it is for. */
	transmit(): { generation: number; frame: Uint8Array } | undefined;
	event(): CoreEvent | undefined;

	/**
	 * A streaming command (code < 1,000,000) or managed command. Arguments and result are the tape form of the
	 * command's body and reply, camelCase. Resolves by a `result` or `failure` event of the returned ticket, also when
	 * it is refused locally.
	 */
	call(command: number, args: unknown, options: CallOptions, now: Now): number;
	probe(now: Now): number;
	waitUntilReady(timeoutMs: number, now: Now): number;
	publish(args: PublishArgs, now: Now): number;
	offsetForTime(stream: string, topic: string, micros: bigint, now: Now): number;
	cancel(ticket: number, now: Now): void;

	openReader(options: ReaderOptions, now: Now): number;
	/**
	 * Reads one batch: `batch` or `reader-failure` follows exactly once, a failed or cancelled read moves no offset.
	 * With `waitMs`, an empty durable read is repeated at that interval until there is a record or a gap.
	 */
	read(reader: number, options: { waitMs?: number }, now: Now): void;
	cancelRead(reader: number, now: Now): void;
	/** Replaces the positions. Not while a read is under way. */
	seek(reader: number, to: Positions | 'beginning' | 'now', identity: SourceIdentity | undefined): void;
	positions(reader: number): Positions;
	closeReader(reader: number): void;

	/** Frees the core object. Safe to call twice. */
	dispose(): void;
}
