import type {
	CoreClient,
	CoreEvent,
	Now,
	Positions,
	ReaderBatch,
	ReaderOptions,
	SourceIdentity,
} from '../core/contract.js';
import { type Doing, errorFromCore } from '../errors/from-core.js';
import { ClosedError, InvalidError, type LaserError } from '../errors/index.js';
import type { OpenSocket, Socket } from '../platform/socket.js';
import { cancelled, onAbort } from './abort.js';
import { driverDefaults } from './defaults.js';
import type {
	CapabilitiesListener,
	ConnectionStatus,
	CredentialsSource,
	DriverParts,
	ReaderStateListener,
	StatusListener,
} from './driver-types.js';

interface Waiting<T> {
	doing: Doing;
	resolve(value: T): void;
	reject(error: LaserError): void;
}

/**
 * The only owner of a core: moves bytes between it and the socket, keeps its one timer, asks for credentials, tells it
 * what happens to the page, and turns tickets into promises. It decides nothing about the protocol.
 */
export class Driver {
	readonly #core: CoreClient;
	readonly #url: string;
	readonly #openSocket: OpenSocket;
	readonly #credentials: CredentialsSource;
	readonly #clock: DriverParts['clock'];
	readonly #tickets = new Map<number, Waiting<unknown>>();
	readonly #reads = new Map<number, Waiting<ReaderBatch>>();
	readonly #readerStates = new Map<number, ReaderStateListener>();
	readonly #statusListeners = new Set<StatusListener>();
	readonly #capabilitiesListeners = new Set<CapabilitiesListener>();
	readonly #heldListeners = new Set<() => void>();
	readonly #stopListening: () => void;
	#socket: { generation: number; socket: Socket } | undefined;
	#asking: { generation: number; abort: AbortController } | undefined;
	#stopTimer: (() => void) | undefined;
	#armedFor = 0;
	#flushing = false;
	#closing: Promise<void> | undefined;
	#disposed = false;
	#status: ConnectionStatus;

	constructor(parts: DriverParts) {
		this.#core = parts.core;
		this.#url = parts.url;
		this.#openSocket = parts.openSocket;
		this.#credentials = parts.credentials;
		this.#clock = parts.clock;
		this.#status = {
			state: 'idle',
			since: this.#clock.now().wall,
			attempts: 0,
			dialect: undefined,
			error: undefined,
		};
		this.#stopListening = parts.lifecycle.listen({
			wake: (cause) => this.#ifAlive((core, now) => core.wake(cause, now)),
			suspend: (reason) => this.#ifAlive((core, now) => core.pause(reason, now)),
			restore: (reason) => this.#ifAlive((core, now) => core.resume(reason, now)),
		});
	}

	get status(): ConnectionStatus {
		return this.#status;
	}

	get closed(): boolean {
		return this.#disposed || this.#closing !== undefined;
	}

	now(): Now {
		return this.#clock.now();
	}

	onStatus(listener: StatusListener): () => void {
		this.#statusListeners.add(listener);
		return () => this.#statusListeners.delete(listener);
	}

	onCapabilities(listener: CapabilitiesListener): () => void {
		this.#capabilitiesListeners.add(listener);
		return () => this.#capabilitiesListeners.delete(listener);
	}

	/** The server answers nothing else while a follower waits there. */
	onLineHeld(listener: () => void): () => void {
		this.#heldListeners.add(listener);
		return () => this.#heldListeners.delete(listener);
	}

	connect(): void {
		this.#act((core, now) => core.connect(now));
	}

	pause(reason: string): void {
		this.#act((core, now) => core.pause(reason, now));
	}

	resume(reason: string): void {
		this.#act((core, now) => core.resume(reason, now));
	}

	reconnect(): void {
		this.#act((core, now) => core.reconnect(now));
	}

	/**
	 * Runs one ticket of the core to its end. `start` is given the core and must return the ticket it got.
	 *
	 * @throws {CancelledError} the signal fired; what was sent is not taken back
	 */
	run<T>(
		doing: Doing,
		signal: AbortSignal | undefined,
		start: (core: CoreClient, now: Now) => number,
	): Promise<T> {
		if (signal?.aborted) return Promise.reject(cancelled(signal, doing.operation));
		if (this.closed) return Promise.reject(closed(doing));
		return new Promise<T>((resolve, reject) => {
			const now = this.#clock.now();
			// Whoever asks for something wants the pending attempt to connect now, not after its pause.
			if (this.#status.state === 'waiting') this.#core.wake('call', now);
			const ticket = start(this.#core, now);
			const stop = onAbort(signal, () => {
				this.#tickets.delete(ticket);
				this.#ifAlive((core, at) => core.cancel(ticket, at));
				reject(cancelled(signal as AbortSignal, doing.operation));
			});
			this.#tickets.set(ticket, {
				doing,
				resolve: (value) => {
					stop();
					resolve(value as T);
				},
				reject: (error) => {
					stop();
					reject(error);
				},
			});
			this.#flush();
		});
	}

	openReader(options: ReaderOptions, onState?: ReaderStateListener): number {
		if (this.closed) throw closed({ surface: 'watch', operation: 'open reader' });
		const reader = this.#core.openReader(options, this.#clock.now());
		if (onState !== undefined) this.#readerStates.set(reader, onState);
		this.#flush();
		return reader;
	}

	/** Reads one batch. A failed or aborted read moves no offset. One read at a time per reader. */
	read(
		reader: number,
		options: { waitMs?: number; signal?: AbortSignal | undefined },
		doing: Doing,
	): Promise<ReaderBatch> {
		const { signal } = options;
		if (signal?.aborted) return Promise.reject(cancelled(signal, doing.operation));
		if (this.closed) return Promise.reject(closed(doing));
		if (this.#reads.has(reader)) {
			return Promise.reject(new InvalidError(`${doing.operation}: a read of this reader is under way`));
		}
		return new Promise((resolve, reject) => {
			const stop = onAbort(signal, () => {
				// First forget it: the core's own answer to the cancellation is then nobody's.
				this.#reads.delete(reader);
				this.#ifAlive((core, now) => core.cancelRead(reader, now));
				reject(cancelled(signal as AbortSignal, doing.operation));
			});
			this.#reads.set(reader, {
				doing,
				resolve: (batch) => {
					stop();
					resolve(batch);
				},
				reject: (error) => {
					stop();
					reject(error);
				},
			});
			this.#act((core, now) => {
				if (this.#status.state === 'waiting') core.wake('call', now);
				core.read(reader, options.waitMs === undefined ? {} : { waitMs: options.waitMs }, now);
			});
		});
	}

	seek(reader: number, to: Positions | 'beginning' | 'now', identity: SourceIdentity | undefined): void {
		this.#act((core) => core.seek(reader, to, identity));
	}

	closeReader(reader: number): void {
		this.#readerStates.delete(reader);
		const read = this.#reads.get(reader);
		this.#reads.delete(reader);
		this.#ifAlive((core, now) => {
			if (read !== undefined) core.cancelRead(reader, now);
			core.closeReader(reader);
		});
		read?.reject(closed(read.doing));
	}

	/** Says goodbye, then frees everything. Safe to call often; every call ends when the first one does. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#ifAlive((core, now) => core.close(now));
		if (this.#status.state !== 'closed') {
			await new Promise<void>((resolve) => {
				const stopTimer = this.#clock.after(driverDefaults.closeMs, () => done());
				const stopStatus = this.onStatus((status) => status.state === 'closed' && done());
				const done = (): void => {
					stopTimer();
					stopStatus();
					resolve();
				};
			});
		}
		this.#dispose();
	}

	#dispose(): void {
		if (this.#disposed) return;
		this.#disposed = true;
		this.#stopListening();
		this.#stopTimer?.();
		this.#asking?.abort.abort();
		this.#socket?.socket.close();
		this.#socket = undefined;
		const waiting = [...this.#tickets.values(), ...this.#reads.values()];
		this.#tickets.clear();
		this.#reads.clear();
		this.#readerStates.clear();
		this.#core.dispose();
		for (const one of waiting) one.reject(closed(one.doing));
		if (this.#status.state !== 'closed') {
			this.#setStatus({ ...this.#status, state: 'closed', since: this.#clock.now().wall });
		}
	}

	#act<T>(work: (core: CoreClient, now: Now) => T): T {
		if (this.#disposed) throw new ClosedError('the connection is closed');
		const result = work(this.#core, this.#clock.now());
		this.#flush();
		return result;
	}

	#ifAlive(work: (core: CoreClient, now: Now) => void): void {
		if (!this.#disposed) this.#act(work);
	}

	/** Everything that the core has to say and to send. Handlers may call back in: the outermost flush does their work. */
	#flush(): void {
		if (this.#flushing) return;
		this.#flushing = true;
		try {
			while (!this.#disposed) {
				const event = this.#core.event();
				if (event !== undefined) {
					this.#handle(event);
					continue;
				}
				const out = this.#core.transmit();
				if (out === undefined) break;
				// Frames for a socket that is gone are dropped: the core is told of the loss and decides.
				if (this.#socket?.generation === out.generation) this.#socket.socket.send(out.frame);
			}
		} finally {
			this.#flushing = false;
		}
		this.#arm();
	}

	#arm(): void {
		if (this.#disposed) return;
		const deadline = this.#core.deadline();
		if (deadline === undefined) return;
		// A timer that fires too early costs one call; setting one anew for every frame costs more.
		if (this.#stopTimer !== undefined && this.#armedFor <= deadline) return;
		this.#stopTimer?.();
		this.#armedFor = deadline;
		const delay = deadline - this.#clock.now().mono;
		// Rounded up: a timer that fires a fraction early would find nothing due and be set again at once.
		this.#stopTimer = this.#clock.after(Math.ceil(delay), () => {
			this.#stopTimer = undefined;
			this.#ifAlive((core, now) => core.expire(now));
		});
	}

	#handle(event: CoreEvent): void {
		switch (event.type) {
			case 'dial':
				this.#dial(event.generation);
				break;
			case 'drop':
				this.#drop(event.generation);
				break;
			case 'credentials':
				this.#ask(event.generation);
				break;
			case 'connection': {
				const changed = event.state !== this.#status.state;
				this.#setStatus({
					state: event.state,
					since: changed ? this.#clock.now().wall : this.#status.since,
					attempts: event.attempts,
					dialect: event.dialect ?? this.#status.dialect,
					error:
						event.error === undefined
							? event.state === 'ready'
								? undefined
								: this.#status.error
							: errorFromCore(event.error, { surface: 'connection', operation: 'connect' }),
				});
				break;
			}
			case 'line-held':
				for (const listener of [...this.#heldListeners]) listener();
				break;
			case 'capabilities':
				for (const listener of this.#capabilitiesListeners) listener(event.capabilities);
				break;
			case 'result':
				this.#settle(this.#tickets, event.ticket, (waiting) => waiting.resolve(event.value));
				break;
			case 'failure':
				this.#settle(this.#tickets, event.ticket, (waiting) =>
					waiting.reject(errorFromCore(event.error, waiting.doing)),
				);
				break;
			case 'batch':
				this.#settle(this.#reads, event.reader, (waiting) => waiting.resolve(event.batch));
				break;
			case 'reader-failure':
				this.#settle(this.#reads, event.reader, (waiting) =>
					waiting.reject(errorFromCore(event.error, waiting.doing)),
				);
				break;
			case 'reader-state':
				this.#readerStates.get(event.reader)?.(event.state);
				break;
		}
	}

	#settle<T>(all: Map<number, Waiting<T>>, key: number, how: (waiting: Waiting<T>) => void): void {
		const waiting = all.get(key);
		if (waiting === undefined) return;
		all.delete(key);
		how(waiting);
	}

	#setStatus(status: ConnectionStatus): void {
		this.#status = status;
		for (const listener of [...this.#statusListeners]) listener(status);
	}

	#dial(generation: number): void {
		// Never two live sockets.
		this.#socket?.socket.close();
		this.#socket = undefined;
		const isCurrent = (): boolean => this.#socket?.generation === generation;
		try {
			const socket = this.#openSocket(this.#url, {
				open: () => isCurrent() && this.#ifAlive((core, now) => core.opened(generation, now)),
				frame: (bytes) => isCurrent() && this.#ifAlive((core, now) => core.receive(generation, bytes, now)),
				text: () => {
					if (!isCurrent()) return;
					this.#drop(generation);
					this.#ifAlive((core, now) => core.lost(generation, { textMessage: true }, now));
				},
				end: (closeCode) => {
					if (!isCurrent()) return;
					this.#socket = undefined;
					const info = closeCode === undefined ? {} : { closeCode };
					this.#ifAlive((core, now) => core.lost(generation, info, now));
				},
			});
			this.#socket = { generation, socket };
		} catch (error) {
			// Already a typed error: what opens sockets throws nothing else.
			this.#setStatus({ ...this.#status, error: error as LaserError });
			this.#core.lost(generation, {}, this.#clock.now());
		}
	}

	#drop(generation: number): void {
		if (this.#asking?.generation === generation) this.#stopAsking();
		if (this.#socket?.generation !== generation) return;
		this.#socket.socket.close();
		this.#socket = undefined;
	}

	#stopAsking(): void {
		this.#asking?.abort.abort();
		this.#asking = undefined;
	}

	/** One question at a time: a newer generation makes the answer to an older one worthless. */
	#ask(generation: number): void {
		this.#stopAsking();
		const asking = { generation, abort: new AbortController() };
		this.#asking = asking;
		const isCurrent = (): boolean => this.#asking === asking;
		Promise.resolve()
			.then(() => this.#credentials(asking.abort.signal))
			.then(
				(credentials) => {
					if (!isCurrent()) return;
					this.#asking = undefined;
					this.#ifAlive((core, now) => core.credentials(generation, credentials, now));
				},
				() => {
					if (!isCurrent()) return;
					this.#asking = undefined;
					// The application's error may hold a secret: it goes nowhere.
					this.#ifAlive((core, now) =>
						core.credentialsFailed(generation, 'the credentials callback failed', now),
					);
				},
			);
	}
}

function closed(doing: Doing): ClosedError {
	return new ClosedError(`${doing.operation}: the connection is closed`);
}
