/// <reference lib="esnext.disposable" preserve="true" />
import { errorFromCore } from '../errors/from-core.js';
import { ClosedError, InvalidError } from '../errors/index.js';
import { BATCH, noChanges, ownedChanges, ownedRecords, viewedChanges } from './columns.js';
import type {
	CallOptions,
	ChangeColumns,
	CoreClient,
	CoreError,
	CoreEvent,
	CoreOptions,
	Credentials,
	Now,
	Positions,
	PublishArgs,
	ReaderBatch,
	ReaderOptions,
	SourceIdentity,
	WakeCause,
} from './contract.js';
import { CallFlag, EventKind, type NativeCore } from './glue.js';
import type { CoreModule } from './load.js';
import type { Memory } from './memory.js';
import { changeRows } from './rows.js';
import { readTape, readTapeAsIs, TapeWriter } from './tape.js';

const WAKE_CAUSES: readonly WakeCause[] = ['visible', 'online', 'focus', 'pageshow', 'call'];

/** Copies a query page out; only the target that has queries brings it along. */
export type PageReader = (memory: Memory, descriptor: number) => { ticket: number; page: unknown };

// A safety net that only speaks: freeing is the owner's, since a collection may come any time or never.
const leaks =
	typeof FinalizationRegistry === 'function'
		? new FinalizationRegistry<string>((what) =>
				console.warn(`tidemark: ${what} was dropped without dispose()`),
			)
		: undefined;

/** The client of the wasm core. See the contract for what its methods promise. */
export class Core implements CoreClient {
	readonly #memory: Memory;
	readonly #tape = new TapeWriter();
	readonly #names: string[] = [];
	readonly #identities = new Map<number, SourceIdentity>();
	/** Tickets whose results keep their names. */
	readonly #asIs = new Set<number>();
	/** Readers whose changes are handed over as objects. */
	readonly #rowReaders = new Set<number>();
	readonly #descriptor: number;
	readonly #readPage: PageReader | undefined;
	#native: NativeCore | undefined;

	constructor(
		module: CoreModule,
		options: CoreOptions = {},
		seed: BigUint64Array = drawSeed(),
		readPage?: PageReader,
	) {
		this.#memory = module.memory;
		this.#readPage = readPage;
		const native = new module.glue.Core();
		this.#native = native;
		this.#descriptor = native.descriptor();
		native.start(this.#write({ ...options, seed: Array.from(seed) }));
		leaks?.register(this, 'a core', this);
	}

	connect(now: Now): void {
		this.#core.connect(now.mono, now.wall);
	}

	opened(generation: number, now: Now): void {
		this.#core.opened(generation, now.mono, now.wall);
	}

	credentials(generation: number, credentials: Credentials, now: Now): void {
		const core = this.#core;
		core.credentials(generation, this.#write(credentials), now.mono, now.wall);
	}

	credentialsFailed(generation: number, reason: string, now: Now): void {
		const core = this.#core;
		core.credentialsFailed(generation, this.#write(reason), now.mono, now.wall);
	}

	receive(generation: number, frame: Uint8Array, now: Now): void {
		const core = this.#core;
		const address = core.input(frame.length);
		if (address !== 0) this.#memory.write(address, frame);
		// A frame that there is no room for is longer than any may be: the core ends the connection for its length.
		core.receive(generation, frame.length, now.mono, now.wall);
	}

	lost(generation: number, info: { closeCode?: number; textMessage?: boolean }, now: Now): void {
		this.#core.lost(generation, info.closeCode ?? 0, info.textMessage ? 1 : 0, now.mono, now.wall);
	}

	pause(reason: string, now: Now): void {
		const core = this.#core;
		core.pause(this.#write(reason), now.mono, now.wall);
	}

	resume(reason: string, now: Now): void {
		const core = this.#core;
		core.resume(this.#write(reason), now.mono, now.wall);
	}

	wake(cause: WakeCause, now: Now): void {
		this.#core.wake(WAKE_CAUSES.indexOf(cause), now.mono, now.wall);
	}

	reconnect(now: Now): void {
		this.#core.reconnect(now.mono, now.wall);
	}

	close(now: Now): void {
		this.#core.close(now.mono, now.wall);
	}

	expire(now: Now): void {
		this.#core.expire(now.mono, now.wall);
	}

	deadline(): number | undefined {
		const at = this.#core.deadline();
		return at < 0 ? undefined : at;
	}

	transmit(): { generation: number; frame: Uint8Array } | undefined {
		if (this.#core.transmit() === 0) return undefined;
		const words = this.#memory.words();
		const at = this.#descriptor >>> 2;
		return { generation: words[at]!, frame: this.#memory.copy(words[at + 1]!, words[at + 2]!) };
	}

	event(): CoreEvent | undefined {
		const kind = this.#core.event();
		if (kind === EventKind.none) return undefined;
		if (kind === EventKind.tape) return this.#told();
		if (kind === EventKind.page) return this.#page();
		return this.#batch(kind);
	}

	call(command: number, args: unknown, options: CallOptions, now: Now): number {
		const core = this.#core;
		const length = this.#write(args);
		const flags = (options.ungated ? CallFlag.ungated : 0) | (options.ensure ? CallFlag.ensure : 0);
		const ticket = core.call(command, length, options.timeoutMs ?? 0, flags, now.mono, now.wall);
		if (options.resultAsIs) this.#asIs.add(ticket);
		return ticket;
	}

	probe(now: Now): number {
		return this.#core.probe(now.mono, now.wall);
	}

	waitUntilReady(timeoutMs: number, now: Now): number {
		return this.#core.waitUntilReady(timeoutMs, now.mono, now.wall);
	}

	publish(args: PublishArgs, now: Now): number {
		const core = this.#core;
		return core.publish(this.#write(args), now.mono, now.wall);
	}

	offsetForTime(stream: string, topic: string, micros: bigint, now: Now): number {
		const core = this.#core;
		return core.offsetForTime(this.#write({ stream, topic, micros }), now.mono, now.wall);
	}

	cancel(ticket: number, now: Now): void {
		this.#asIs.delete(ticket);
		this.#core.cancel(ticket, now.mono, now.wall);
	}

	openReader(options: ReaderOptions, now: Now): number {
		const core = this.#core;
		const { from, rows, ...rest } = options;
		const length = this.#write({ ...rest, from: place(from) });
		const reader = core.openReader(length, now.mono, now.wall);
		if (reader === 0) {
			throw errorFromCore(this.#answer() as CoreError, { surface: 'watch', operation: 'open reader' });
		}
		if (rows) this.#rowReaders.add(reader);
		return reader;
	}

	read(reader: number, options: { waitMs?: number }, now: Now): void {
		if (this.#core.read(reader, options.waitMs ?? 0, now.mono, now.wall) === 0)
			throw new Error(`reader ${reader} is closed, or reading already`);
	}

	cancelRead(reader: number, now: Now): void {
		this.#core.cancelRead(reader, now.mono, now.wall);
	}

	seek(reader: number, to: Positions | 'beginning' | 'now', identity: SourceIdentity | undefined): void {
		const core = this.#core;
		if (core.seek(reader, this.#write({ from: place(to), identity })) === 0)
			throw new Error(`reader ${reader} is closed, or reading`);
	}

	positions(reader: number): Positions {
		this.#core.positions(reader);
		return toPositions(this.#answer());
	}

	closeReader(reader: number): void {
		this.#identities.delete(reader);
		this.#rowReaders.delete(reader);
		this.#core.closeReader(reader);
	}

	dispose(): void {
		if (this.#native === undefined) return;
		this.#native.delete();
		this.#native = undefined;
		leaks?.unregister(this);
	}

	[Symbol.dispose](): void {
		this.dispose();
	}

	get #core(): NativeCore {
		if (this.#native === undefined) throw new ClosedError('the core was disposed of');
		return this.#native;
	}

	/** Puts a value where the core reads its arguments; its length is the argument of the call that follows. */
	#write(value: unknown): number {
		const tape = this.#tape.encode(value);
		const address = this.#core.input(tape.length);
		if (address === 0) {
			throw new InvalidError(`arguments of ${tape.length} bytes are too large`, { rule: 'argument' });
		}
		this.#memory.write(address, tape);
		return tape.length;
	}

	#told(): CoreEvent {
		const event = this.#answer() as CoreEvent;
		if (event.type !== 'result' && event.type !== 'failure') return event;
		if (!this.#asIs.delete(event.ticket) || event.type === 'failure') return event;
		const words = this.#memory.words();
		const at = this.#descriptor >>> 2;
		return readTapeAsIs(this.#memory.bytes(), words[at]!, words[at + 1]!) as CoreEvent;
	}

	/** Reads the tape that the last call left. */
	#answer(): unknown {
		const words = this.#memory.words();
		const at = this.#descriptor >>> 2;
		return readTape(this.#memory.bytes(), words[at]!, words[at + 1]!);
	}

	#page(): CoreEvent {
		if (this.#readPage === undefined) throw new Error('this build of the client reads no query pages');
		const { ticket, page } = this.#readPage(this.#memory, this.#descriptor);
		return { type: 'result', ticket, value: page };
	}

	#batch(kind: number): CoreEvent {
		const words = this.#memory.words();
		const at = this.#descriptor >>> 2;
		const reader = words[at + BATCH.reader]!;
		const names = words[at + BATCH.names]!;
		const { identity, positions, ...rest } = readTape(
			this.#memory.bytes(),
			words[at + BATCH.tape]!,
			words[at + BATCH.tapeLength]!,
		) as Omit<ReaderBatch, 'columns' | 'positions'> & { positions: unknown };
		// Told only when it changed: with many partitions it is the largest part of a small batch.
		if (identity) this.#identities.set(reader, identity);
		const hasNewNames = names > this.#names.length;
		const asRows = this.#rowReaders.has(reader);
		const take =
			kind !== EventKind.changes ? ownedRecords : asRows && !hasNewNames ? viewedChanges : ownedChanges;
		const columns = take(this.#memory, this.#descriptor, this.#names);
		// A call into the module: views would not outlive it.
		if (hasNewNames) this.#learnNames();
		const batch: ReaderBatch = {
			...rest,
			columns: asRows ? noChanges : columns,
			...(asRows ? { rows: changeRows(columns as ChangeColumns) } : {}),
			positions: toPositions(positions),
			identity: this.#identities.get(reader),
		};
		return { type: 'batch', reader, batch };
	}

	#learnNames(): void {
		this.#core.names(this.#names.length);
		this.#names.push(...(this.#answer() as string[]));
	}
}

function place(from: Positions | 'beginning' | 'now' | undefined): unknown {
	return from === undefined || typeof from === 'string' ? from : Array.from(from);
}

function toPositions(pairs: unknown): Positions {
	return new Map(pairs as [number, bigint][]);
}

function drawSeed(): BigUint64Array {
	return crypto.getRandomValues(new BigUint64Array(4));
}
