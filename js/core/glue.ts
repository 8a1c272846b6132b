/**
 * What the Embind module hands out: functions named `Class.method`, whose first argument is the object's address (the
 * C++ side is wasm/), made classes of again. Only numbers cross; `mono` and `wall` are milliseconds. Addresses and
 * lengths are bytes of wasm memory.
 */

/** One client. Every method leaves its answer in `descriptor()` where it has more than a number to say. */
export interface NativeCore {
	/** Room for the next frame or tape: its address, or 0 when it may never be that long. */
	input(length: number): number;
	/** Address of the words that answers are left in. It does not move while the object lives. */
	descriptor(): number;
	/** Takes the options from the input. Once, before everything else. */
	start(length: number): void;

	connect(mono: number, wall: number): void;
	opened(generation: number, mono: number, wall: number): void;
	credentials(generation: number, length: number, mono: number, wall: number): void;
	credentialsFailed(generation: number, length: number, mono: number, wall: number): void;
	receive(generation: number, length: number, mono: number, wall: number): void;
	lost(generation: number, closeCode: number, textMessage: number, mono: number, wall: number): void;
	pause(length: number, mono: number, wall: number): void;
	resume(length: number, mono: number, wall: number): void;
	wake(cause: number, mono: number, wall: number): void;
	reconnect(mono: number, wall: number): void;
	close(mono: number, wall: number): void;
	expire(mono: number, wall: number): void;
	/** Negative: none. */
	deadline(): number;

	/** 1 when a frame is in the descriptor: generation, address, length. */
	transmit(): number;
	/** An `EventKind`. */
	event(): number;
	/** Leaves address and length of a tape with the names from `first` on. */
	names(first: number): void;

	probe(mono: number, wall: number): number;
	waitUntilReady(timeoutMs: number, mono: number, wall: number): number;
	cancel(ticket: number, mono: number, wall: number): void;

	/** 0 when the options are refused: the descriptor holds address and length of the error's tape. */
	openReader(length: number, mono: number, wall: number): number;
	/** 0 when a read is under way or there is no such reader. */
	read(reader: number, waitMs: number, mono: number, wall: number): number;
	cancelRead(reader: number, mono: number, wall: number): void;
	/** As `read`. */
	seek(reader: number, length: number): number;
	/** Leaves address and length of a tape. */
	positions(reader: number): void;
	closeReader(reader: number): void;

	/** From here on of the full target alone. */
	call(command: number, length: number, timeoutMs: number, flags: number, mono: number, wall: number): number;
	publish(length: number, mono: number, wall: number): number;
	offsetForTime(length: number, mono: number, wall: number): number;

	delete(): void;
}

/** Bits of `call`'s flags. */
export const CallFlag = { ungated: 1, ensure: 2 } as const;

export const EventKind = { none: 0, tape: 1, changes: 2, records: 3, page: 4 } as const;

/** Change records by hand, without a client: for payloads that an application has got by itself. */
export interface NativeChangeDecoder {
	input(length: number): number;
	descriptor(): number;
	/** `count + 1` starts as words, then the payloads' bytes. Leaves a change batch in the descriptor. */
	decode(count: number, length: number): void;
	names(first: number): void;
	delete(): void;
}

/** Query replies by hand, without a client. Only the target that has queries brings it along. */
export interface NativePageDecoder {
	input(length: number): number;
	descriptor(): number;
	/** 1 with a page in the descriptor, 0 when the reply is none. */
	decode(length: number): number;
	delete(): void;
}

/** Change records by hand, queries by hand and consumers: of the full target alone. */
export interface Glue {
	readonly Core: new () => NativeCore;
	readonly ChangeDecoder: new () => NativeChangeDecoder;
	readonly PageDecoder: new () => NativePageDecoder;
	/** Bytes that the allocator has handed out and not got back. */
	inUse(): number;
}

type Call = (...numbers: (number | undefined)[]) => number;

export type GlueFactory = (options: {
	wasm: WebAssembly.Module;
	/** Stands in for `WebAssembly.instantiate`; what comes of the instance is the glue's. */
	instantiate(
		module: WebAssembly.Module,
		imports: WebAssembly.Imports,
	): { then(done: (instance: WebAssembly.Instance) => void): void };
}) => Promise<Record<string, unknown>>;

/** An object of the module, by its address. */
class Native {
	readonly self: number;

	constructor(make: Call) {
		this.self = make();
	}
}

/** Classes of the functions that a module registered. */
export function classesOf(functions: Record<string, unknown>): Glue {
	const glue: Record<string, unknown> = { inUse: functions['inUse'] };
	for (const [name, call] of Object.entries(functions) as [string, Call][]) {
		const [owner = '', method] = name.split('.');
		if (method === undefined) continue;
		glue[owner] ??= class extends Native {
			constructor() {
				super(functions[`${owner}.new`] as Call);
			}
		};
		// The most that any method takes, by name: numbers cost nothing, a list of arguments would be made anew.
		(glue[owner] as { prototype: Record<string, unknown> }).prototype[method] = function (
			this: Native,
			a?: number,
			b?: number,
			c?: number,
			d?: number,
			e?: number,
			f?: number,
			g?: number,
		) {
			return call(this.self, a, b, c, d, e, f, g);
		};
	}
	return glue as unknown as Glue;
}
