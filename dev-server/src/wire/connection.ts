import type { RequestFault, RequestFaults } from '../faults/rules.js';
import { Eviction, Refusal, Status } from './codes.js';
import { Command, frameSize, HEADER, type RequestHeader, readRequest } from './frame.js';
import { Later, type Outcome, type RequestHost, Requests } from './requests.js';
import type { Session } from './session.js';
import type { Transport } from './transport.js';

/** The server as a connection sees it. */
export interface ConnectionHost extends RequestHost {
	readonly faults: RequestFaults;
	closed(connection: Connection): void;
}

const QUEUE_LIMIT = 256;
const QUEUE_BYTES = 64 << 20;

/** Evictions after which a session that can be resumed still can. */
const RESUMABLE_EVICTIONS: ReadonlySet<number> = new Set([Eviction.noSession, Eviction.staleClient]);

/** Serves one client: one frame in, one frame out, in order; only reads that wait are answered when they may be. */
export class Connection {
	lastHeard = Date.now();
	readonly #host: ConnectionHost;
	readonly #requests: Requests;
	#queue: Buffer[] = [];
	#queuedBytes = 0;
	#paused = false;
	#running = false;
	#closed = false;

	constructor(
		readonly id: number,
		readonly transport: Transport,
		host: ConnectionHost,
	) {
		this.#host = host;
		this.#requests = new Requests(id, host);
	}

	get session(): Session | undefined {
		return this.#requests.session;
	}

	/** Takes one complete frame whose size field was checked. */
	receive(frame: Buffer): void {
		if (this.#closed) return;
		this.lastHeard = Date.now();
		this.#queue.push(frame);
		this.#queuedBytes += frame.length;
		if (!this.#paused && (this.#queue.length >= QUEUE_LIMIT || this.#queuedBytes >= QUEUE_BYTES)) {
			this.#paused = true;
			this.transport.pause();
		}
		if (this.#running) return;
		this.#run().catch((error: unknown) => this.#broken(error));
	}

	/** The transport is gone. */
	closed(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#queue = [];
		this.#requests.parked.end();
		this.#requests.endSession(false);
		this.#host.closed(this);
	}

	evict(reason: number): void {
		this.#requests.parked.end();
		this.#requests.endSession(!RESUMABLE_EVICTIONS.has(reason));
		this.transport.send(this.#requests.evictionFrame(reason));
	}

	/** The session goes on elsewhere, or not at all. */
	sessionTaken(session: Session): void {
		if (this.session === session) this.#requests.parked.end(new Refusal(Status.unauthenticated));
	}

	async #run(): Promise<void> {
		this.#running = true;
		while (!this.#closed) {
			const frame = this.#queue.shift();
			if (!frame) break;
			this.#queuedBytes -= frame.length;
			const served = this.#serve(frame);
			if (served) await served;
			const drained = this.transport.drained();
			if (drained) await drained;
			if (this.#paused && this.#queue.length < QUEUE_LIMIT / 2 && this.#queuedBytes < QUEUE_BYTES / 2) {
				this.#paused = false;
				this.transport.resume();
			}
		}
		this.#running = false;
	}

	#serve(frame: Buffer): Promise<void> | undefined {
		if (frame[60]! > this.#requests.dialect.lastCommand) {
			this.transport.close();
			return undefined;
		}
		const header = readRequest(frame);
		if (header.command !== Command.request) return undefined;
		const body = frame.subarray(HEADER);
		const faults = this.#host.faults.take(this.#requests.commandOf(header, body));
		if (faults.length > 0) return this.#serveFaulty(header, body, faults);
		const outcome = this.#requests.execute(header, body);
		if (outcome instanceof Promise) return outcome.then((reply) => this.#answer(reply));
		if (outcome instanceof Later) this.#answerLater(outcome, []);
		else this.#answer(outcome);
		return undefined;
	}

	#answer(reply: Outcome, faults: readonly RequestFault[] = []): void {
		if (this.#closed) return;
		for (const fault of faults) {
			if (fault.kind === 'drop') this.transport.destroy();
			else if (!reply) continue;
			else if (fault.kind === 'half') this.transport.sendPart(reply, fault.bytes ?? reply.length >>> 1);
			else if (fault.kind === 'text') this.transport.sendText('not a frame');
			else {
				if (fault.kind === 'missized') reply.writeUInt32LE(frameSize(reply) + 1, 48);
				continue;
			}
			return;
		}
		if (reply) this.transport.send(reply);
	}

	#answerLater(later: Later, faults: readonly RequestFault[]): void {
		later.reply.then((reply) => this.#answer(reply, faults)).catch((error: unknown) => this.#broken(error));
	}

	async #serveFaulty(header: RequestHeader, body: Buffer, faults: readonly RequestFault[]): Promise<void> {
		for (const fault of faults) {
			if (fault.kind === 'delay') await new Promise((done) => setTimeout(done, fault.ms));
			else if (fault.kind === 'silent') return;
			else if (fault.kind === 'status') return this.#answer(this.#requests.deny(header, fault.status));
			else if (fault.kind === 'evict') return this.evict(fault.reason);
			else if (fault.kind === 'drop' && fault.when === 'before') return this.transport.destroy();
		}
		if (this.#closed) return;
		const outcome = await this.#requests.execute(header, body);
		if (outcome instanceof Later) this.#answerLater(outcome, faults);
		else this.#answer(outcome, faults);
	}

	#broken(error: unknown): void {
		console.error('connection ended:', error);
		this.transport.destroy();
	}
}
