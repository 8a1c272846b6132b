import type {
	ChangeColumns,
	CoreClient,
	CoreError,
	CoreEvent,
	Gap,
	Now,
	Positions,
	PublishArgs,
	ReaderBatch,
	ReaderOptions,
	RecordColumns,
	SourceIdentity,
} from '../../../js/core/contract.js';

export interface FakeReader {
	options: ReaderOptions;
	positions: Map<number, bigint>;
	/** Set while a read is under way. */
	waitMs: number | undefined;
	isReading: boolean;
}

/**
 * A core that does what its contract says and nothing that a wire would: tests push events and look at the calls. Its
 * topic is a list of offsets per partition, so that readers read something real.
 */
export class FakeCore implements CoreClient {
	readonly calls: [name: string, ...args: unknown[]][] = [];
	readonly readers = new Map<number, FakeReader>();
	readonly tickets = new Map<number, { name: string; args: unknown[] }>();
	/** Offsets that the topic holds, partition 0. */
	log: bigint[] = [];
	/** First offset still there; reads below it are a gap. */
	start = 0n;
	index = 'orders_v1';
	identity: SourceIdentity = {
		streamId: 1,
		streamCreatedAtMicros: 1n,
		topicId: 1,
		topicCreatedAtMicros: 2n,
		partitions: [{ id: 0, createdAtMicros: 3n }],
	};
	/** Records of one read. */
	batchSize = 1_000;
	/** Answers calls by themselves, when set. */
	answer: ((name: string, ...args: unknown[]) => unknown) | undefined;
	/** The next read of a reader fails with this. */
	failRead: CoreError | undefined;
	deadlineAt: number | undefined;
	disposed = false;
	#events: CoreEvent[] = [];
	#frames: { generation: number; frame: Uint8Array }[] = [];
	#next = 1;

	push(...events: CoreEvent[]): void {
		this.#events.push(...events);
	}

	send(generation: number, frame: Uint8Array): void {
		this.#frames.push({ generation, frame });
	}

	named(name: string): unknown[][] {
		return this.calls.filter(([one]) => one === name).map(([, ...args]) => args);
	}

	append(...offsets: bigint[]): void {
		this.log.push(...offsets);
	}

	connect(now: Now): void {
		this.#note('connect', now);
	}
	opened(generation: number, now: Now): void {
		this.#note('opened', generation, now);
	}
	credentials(generation: number, credentials: unknown, now: Now): void {
		this.#note('credentials', generation, credentials, now);
	}
	credentialsFailed(generation: number, reason: string, now: Now): void {
		this.#note('credentialsFailed', generation, reason, now);
	}
	receive(generation: number, frame: Uint8Array, now: Now): void {
		this.#note('receive', generation, frame, now);
	}
	lost(generation: number, info: object, now: Now): void {
		this.#note('lost', generation, info, now);
	}
	pause(reason: string, now: Now): void {
		this.#note('pause', reason, now);
	}
	resume(reason: string, now: Now): void {
		this.#note('resume', reason, now);
	}
	wake(cause: string, now: Now): void {
		this.#note('wake', cause, now);
	}
	reconnect(now: Now): void {
		this.#note('reconnect', now);
	}
	close(now: Now): void {
		this.#note('close', now);
		this.push({ type: 'connection', state: 'closed', attempts: 0 });
	}
	expire(now: Now): void {
		this.#note('expire', now);
	}
	deadline(): number | undefined {
		return this.deadlineAt;
	}
	transmit(): { generation: number; frame: Uint8Array } | undefined {
		return this.#frames.shift();
	}
	event(): CoreEvent | undefined {
		return this.#events.shift();
	}

	call(command: number, args: unknown, options: object): number {
		return this.#ticket('call', command, args, options);
	}
	probe(): number {
		return this.#ticket('probe');
	}
	waitUntilReady(timeoutMs: number): number {
		return this.#ticket('waitUntilReady', timeoutMs);
	}
	publish(args: PublishArgs): number {
		return this.#ticket('publish', args);
	}
	offsetForTime(stream: string, topic: string, micros: bigint): number {
		return this.#ticket('offsetForTime', stream, topic, micros);
	}
	cancel(ticket: number): void {
		this.#note('cancel', ticket);
		this.tickets.delete(ticket);
	}

	openReader(options: ReaderOptions): number {
		this.#note('openReader', options);
		const reader = this.#next++;
		this.readers.set(reader, { options, positions: new Map(), waitMs: undefined, isReading: false });
		this.#place(reader, options.from ?? 'beginning');
		return reader;
	}
	read(reader: number, options: { waitMs?: number }): void {
		this.#note('read', reader, options);
		const one = this.readers.get(reader);
		if (one === undefined || one.isReading) throw new Error('closed, or reading already');
		one.isReading = true;
		one.waitMs = options.waitMs;
		this.serve(reader);
	}
	/** Finishes the read under way, if there is something to finish it with. */
	serve(reader: number): void {
		const one = this.readers.get(reader);
		if (one === undefined || !one.isReading) return;
		if (this.failRead !== undefined) {
			one.isReading = false;
			this.push({ type: 'reader-failure', reader, error: this.failRead });
			this.failRead = undefined;
			return;
		}
		const batch = this.#batch(one);
		if (batch.columns.count === 0 && batch.gaps.length === 0 && one.waitMs !== undefined) {
			this.push({ type: 'reader-state', reader, state: 'idle' });
			return;
		}
		one.isReading = false;
		one.positions = new Map(batch.positions);
		this.push({ type: 'reader-state', reader, state: batch.columns.count === 0 ? 'idle' : 'reading' });
		this.push({ type: 'batch', reader, batch });
	}
	cancelRead(reader: number): void {
		this.#note('cancelRead', reader);
		const one = this.readers.get(reader);
		if (one === undefined || !one.isReading) return;
		one.isReading = false;
		this.push({ type: 'reader-failure', reader, error: { kind: 'cancelled', message: 'cancelled' } });
	}
	seek(reader: number, to: Positions | 'beginning' | 'now', identity: SourceIdentity | undefined): void {
		this.#note('seek', reader, to, identity);
		if (this.readers.get(reader)?.isReading) throw new Error('reading');
		this.#place(reader, to);
	}
	positions(reader: number): Positions {
		return new Map(this.readers.get(reader)?.positions);
	}
	closeReader(reader: number): void {
		this.#note('closeReader', reader);
		this.readers.delete(reader);
	}
	dispose(): void {
		this.disposed = true;
	}

	#place(reader: number, to: Positions | 'beginning' | 'now'): void {
		const one = this.readers.get(reader)!;
		if (to === 'beginning') one.positions = new Map([[0, this.start]]);
		else if (to === 'now') one.positions = new Map([[0, (this.log.at(-1) ?? -1n) + 1n]]);
		else one.positions = new Map(to);
	}

	#batch(reader: FakeReader): ReaderBatch {
		const asked = reader.positions.get(0) ?? 0n;
		const left = this.log.filter((offset) => offset >= asked && offset >= this.start);
		const taken = left.slice(0, this.batchSize);
		const next = taken.length === 0 ? (asked < this.start ? this.start : asked) : taken.at(-1)! + 1n;
		const gaps: Gap[] =
			reader.options.mode === 'durable' && asked < this.start
				? [{ partitionId: 0, asked, firstAvailable: taken[0], reason: 'trimmed' }]
				: [];
		return {
			columns: reader.options.content === 'changes' ? changeColumns(taken, this.index) : recordColumns(taken),
			positions: new Map([[0, next]]),
			identity: this.identity,
			caughtUp: taken.length === left.length,
			skipped: { malformed: 0, version: 0, otherIndex: 0 },
			gaps,
			unreadPartitions: 0,
		};
	}

	#ticket(name: string, ...args: unknown[]): number {
		this.#note(name, ...args);
		const ticket = this.#next++;
		this.tickets.set(ticket, { name, args });
		if (this.answer !== undefined) {
			const value = this.answer(name, ...args);
			if (value instanceof Failure) this.push({ type: 'failure', ticket, error: value.error });
			else if (value !== undefined) this.push({ type: 'result', ticket, value });
		}
		return ticket;
	}

	#note(name: string, ...args: unknown[]): void {
		this.calls.push([name, ...args]);
	}
}

export class Failure {
	readonly error: CoreError;
	constructor(error: CoreError) {
		this.error = error;
	}
}

export function changeColumns(offsets: readonly bigint[], index: string): ChangeColumns {
	return {
		kind: 'changes',
		count: offsets.length,
		feedPartitionId: new Uint32Array(offsets.length),
		offset: BigUint64Array.from(offsets),
		timestampMicros: BigUint64Array.from(offsets, () => BigInt(Date.now() - 1_000) * 1000n),
		partitionId: new Uint32Array(offsets.length),
		fromOffset: BigUint64Array.from(offsets),
		toOffset: BigUint64Array.from(offsets),
		rows: new Uint32Array(offsets.length).fill(1),
		index: new Uint32Array(offsets.length),
		stream: new Uint32Array(offsets.length).fill(0xffffffff),
		names: [index],
	};
}

const encoder = new TextEncoder();

/** Each payload is the JSON `{"offset":"…"}`; one of an offset divisible by 5 is no JSON. */
export function recordColumns(offsets: readonly bigint[]): RecordColumns {
	const payloads = offsets.map((offset) =>
		encoder.encode(offset % 5n === 4n ? 'no json' : JSON.stringify({ offset: String(offset) })),
	);
	const starts = [0];
	for (const payload of payloads) starts.push(starts.at(-1)! + payload.length);
	const bytes = new Uint8Array(starts.at(-1)!);
	payloads.forEach((payload, index) => {
		bytes.set(payload, starts[index]);
	});
	return {
		kind: 'records',
		count: offsets.length,
		partitionId: new Uint32Array(offsets.length),
		offset: BigUint64Array.from(offsets),
		timestampMicros: BigUint64Array.from(offsets, () => 1_700_000_000_000_000n),
		originTimestampMicros: BigUint64Array.from(offsets, () => 1_700_000_000_000_000n),
		id: new Uint8Array(offsets.length * 16),
		payloadStart: Uint32Array.from(starts),
		headersStart: Uint32Array.from(starts.slice(1)),
		bytes,
	};
}
