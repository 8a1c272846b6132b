import type { RequestFault, RequestFaults } from '../faults/rules.js';
import { BodyReader } from './body.js';
import { type Call, Framed, NOTHING, type Services } from './call.js';
import {
	Code,
	Eviction,
	FIRST_MANAGED_CODE,
	METADATA_OPERATIONS,
	Operation,
	PARTITION_OPERATIONS,
	PREPARED_OPERATION,
	REPLICATED_CODES,
	Refusal,
	Status,
} from './codes.js';
import { SERVER_VERSION } from './commands/system.js';
import { METADATA_WRITES, PARTITION_WRITES, READS } from './commands/table.js';
import type { Dialect, LoginBody } from './dialect.js';
import {
	Command,
	evictionFrame,
	frameSize,
	HEADER,
	knownCommand,
	MAX_FRAME,
	type RequestHeader,
	readRequest,
	replyFrame,
	writeReply,
} from './frame.js';
import { checksumFits, resultSection } from './reply.js';
import type { Session } from './session.js';
import type { Transport } from './transport.js';

/** The server as a connection sees it. */
export interface ConnectionHost {
	readonly services: Services;
	readonly faults: RequestFaults;
	readonly preferred: Dialect;
	/** Leave rule violations unanswered, as the original server does, instead of answering status 3. */
	readonly strict: boolean;
	dialectFor(version: number): Dialect | undefined;
	/** The user's id, or the eviction reason that refuses the login. */
	authenticate(login: LoginBody): { userId: number } | { reason: number };
	/** Opens a session or takes over the one of the same client id; an eviction reason when it may not. */
	openSession(client: Buffer, userId: number, connectionId: number): Session | { reason: number };
	closeSession(session: Session): void;
	managed(code: number, body: Buffer, session: Session, connectionId: number): Promise<Buffer> | undefined;
	closed(connection: Connection): void;
}

const QUEUE_LIMIT = 256;
const QUEUE_BYTES = 64 << 20;

type Outcome = Buffer | undefined;

/** Serves one client: one frame in, one frame out, in order. */
export class Connection {
	session: Session | undefined;
	lastHeard = Date.now();
	readonly #host: ConnectionHost;
	readonly #ownId: Buffer;
	#dialect: Dialect;
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
		this.#dialect = host.preferred;
		this.#ownId = Buffer.alloc(16);
		this.#ownId.writeUInt32LE(id);
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
		this.#run().catch((error: unknown) => {
			console.error('connection ended:', error);
			this.transport.destroy();
		});
	}

	/** The transport is gone. */
	closed(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#queue = [];
		this.endSession();
		this.#host.closed(this);
	}

	endSession(): void {
		const session = this.session;
		this.session = undefined;
		this.#host.services.groups.leaveAll(this.id);
		if (session && session.connectionId === this.id) this.#host.closeSession(session);
	}

	evict(reason: number): void {
		this.endSession();
		this.transport.send(evictionFrame(this.#ownId, reason));
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
		if (!knownCommand(frame[60]!)) {
			this.transport.close();
			return undefined;
		}
		const header = readRequest(frame);
		if (header.command !== Command.request) return undefined;
		const body = frame.subarray(HEADER);
		const faults = this.#host.faults.take(this.#commandOf(header, body));
		if (faults.length > 0) return this.#serveFaulty(header, body, faults);
		const outcome = this.#execute(header, body);
		if (outcome instanceof Promise) return outcome.then((reply) => this.#answer(reply));
		this.#answer(outcome);
		return undefined;
	}

	#answer(reply: Outcome): void {
		if (reply && !this.#closed) this.transport.send(reply);
	}

	async #serveFaulty(header: RequestHeader, body: Buffer, faults: readonly RequestFault[]): Promise<void> {
		for (const fault of faults) {
			if (fault.kind === 'delay') await new Promise((done) => setTimeout(done, fault.ms));
			else if (fault.kind === 'silent') return;
			else if (fault.kind === 'status') return this.#answer(this.#deny(header, fault.status));
			else if (fault.kind === 'evict') return this.evict(fault.reason);
			else if (fault.kind === 'drop' && fault.when === 'before') return this.transport.destroy();
		}
		if (this.#closed) return;
		const reply = await this.#execute(header, body);
		for (const fault of faults) {
			if (fault.kind === 'drop') return this.transport.destroy();
			if (!reply) continue;
			if (fault.kind === 'half') return this.transport.sendPart(reply, fault.bytes ?? reply.length >>> 1);
			if (fault.kind === 'text') return this.transport.sendText('not a frame');
			if (fault.kind === 'missized') reply.writeUInt32LE(frameSize(reply) + 1, 48);
		}
		this.#answer(reply);
	}

	/** The command that a request stands for; a login's body alone tells password from token. */
	#commandOf(header: RequestHeader, body: Buffer): number {
		if (header.operation === Operation.nonReplicated) return header.code;
		if (header.operation === Operation.logout) return Code.logout;
		if (header.operation === Operation.register) {
			try {
				const by = this.#host.preferred.readLogin(body.subarray(4)).by;
				return by === 'token' ? Code.loginWithToken : Code.login;
			} catch {
				return Code.login;
			}
		}
		return METADATA_OPERATIONS.get(header.operation) ?? PARTITION_OPERATIONS.get(header.operation) ?? 0;
	}

	#execute(header: RequestHeader, body: Buffer): Outcome | Promise<Outcome> {
		if (header.client.every((byte) => byte === 0)) return this.#violation(header);
		switch (header.operation) {
			case Operation.register:
				return this.#login(header, body);
			case Operation.nonReplicated:
				return this.#read(header, body);
			case Operation.logout:
				return this.#logout(header, body);
		}
		const metadata = METADATA_OPERATIONS.get(header.operation);
		const partition = PARTITION_OPERATIONS.get(header.operation);
		if (metadata === undefined && partition === undefined) return this.#violation(header);
		if (!this.#isLoggedIn()) return evictionFrame(this.#ownId, Eviction.noSession);
		if (header.request === 0n || header.session === 0n) return this.#violation(header);
		if (!checksumFits(header, body)) return this.#deny(header, Status.invalidFormat);
		return metadata === undefined
			? this.#partitionWrite(header, body, partition!)
			: this.#metadataWrite(header, body, metadata);
	}

	/** A later login elsewhere with the same client id has the session now. */
	#isLoggedIn(): boolean {
		return this.session !== undefined && this.session.connectionId === this.id;
	}

	#violation(header: RequestHeader): Outcome {
		return this.#host.strict ? undefined : this.#deny(header, Status.invalidCommand);
	}

	#login(header: RequestHeader, body: Buffer): Outcome {
		if (header.request !== 0n || header.session !== 0n) return this.#violation(header);
		if (!checksumFits(header, body)) return this.#deny(header, Status.invalidFormat);
		const evict = (reason: number, window?: Dialect['window']): Buffer =>
			evictionFrame(header.client, reason, window);
		if (body.length < 4) return evict(Eviction.malformedLogin);
		const dialect = this.#host.dialectFor(body.readUInt32LE());
		if (!dialect) return evict(Eviction.incompatibleProtocol, this.#host.preferred.window);
		let login: LoginBody;
		try {
			login = dialect.readLogin(body.subarray(4));
		} catch {
			return evict(Eviction.malformedLogin);
		}
		const verdict = this.#host.authenticate(login);
		if ('reason' in verdict) return evict(verdict.reason);
		if (!this.#isLoggedIn()) {
			const session = this.#host.openSession(header.client, verdict.userId, this.id);
			if ('reason' in session) return evict(session.reason);
			this.session = session;
			this.#dialect = dialect;
		}
		return this.#reply(header, loginReply(this.session!, dialect));
	}

	#logout(header: RequestHeader, body: Buffer): Outcome {
		if (!checksumFits(header, body)) return this.#deny(header, Status.invalidFormat);
		const reply = this.#reply(header, NOTHING);
		this.endSession();
		return reply;
	}

	#read(header: RequestHeader, body: Buffer): Outcome | Promise<Outcome> {
		if (!checksumFits(header, body)) return this.#deny(header, Status.invalidFormat);
		if (header.code === Code.ping) return this.#reply(header, NOTHING);
		if (!this.#isLoggedIn()) return this.#deny(header, Status.unauthenticated);
		const session = this.session!;
		if (header.code >= FIRST_MANAGED_CODE) {
			const managed = this.#host.managed(header.code, body, session, this.id);
			if (!managed) return this.#deny(header, Status.invalidCommand);
			return managed.then((bytes) => this.#reply(header, bytes, session));
		}
		const handler = READS.get(header.code);
		if (!handler) {
			const known = REPLICATED_CODES.has(header.code);
			return this.#deny(header, known ? Status.featureUnavailable : Status.invalidCommand);
		}
		try {
			return this.#reply(header, handler(this.#call(body)));
		} catch (error) {
			return this.#deny(header, refusalCode(error));
		}
	}

	#metadataWrite(header: RequestHeader, body: Buffer, code: number): Outcome {
		const session = this.session!;
		if (header.request <= session.highest) {
			const kept = session.keptReply(header.request);
			if (!kept) return this.#commit(header, resultSection(Status.alreadyApplied));
			const differs =
				!isZero(header.checksum) && !isZero(kept.checksum) && !header.checksum.equals(kept.checksum);
			return differs ? this.#violation(header) : kept.frame;
		}
		const handler = METADATA_WRITES.get(code);
		if (!handler) return this.#deny(header, Status.featureUnavailable);
		let payload: Buffer;
		try {
			payload = resultSection(0, handler(this.#call(body)));
		} catch (error) {
			if (!(error instanceof Refusal) || !error.committed) return this.#deny(header, refusalCode(error));
			payload = resultSection(error.code);
		}
		const frame = this.#commit(header, payload);
		// A token is shown once: the repeat of its creation says that it exists.
		const replay =
			code === Code.createToken ? this.#commit(header, resultSection(Status.tokenExists)) : frame;
		session.keep({ request: header.request, checksum: header.checksum, frame: replay });
		return frame;
	}

	#partitionWrite(header: RequestHeader, body: Buffer, code: number): Outcome {
		const session = this.session!;
		const framed = header.operation !== Operation.send;
		const remembers = this.#dialect.remembersPartitionWrites;
		if (remembers && session.wrote(header.request)) {
			return this.#commit(header, framed ? resultSection(0) : NOTHING, this.#ownId);
		}
		try {
			const payload = PARTITION_WRITES.get(code)!(this.#call(body));
			if (remembers) session.rememberWrite(header.request);
			return this.#commit(header, framed ? resultSection(0, payload) : payload, this.#ownId);
		} catch (error) {
			return this.#deny(header, refusalCode(error), this.#ownId);
		}
	}

	#call(body: Buffer): Call {
		return {
			services: this.#host.services,
			dialect: this.#dialect,
			session: this.session!,
			connectionId: this.id,
			body: new BodyReader(body),
		};
	}

	#reply(header: RequestHeader, body: Buffer | Framed, session = this.session): Outcome {
		const reply = {
			...header,
			client: session?.client ?? header.client,
			op: session?.number ?? 0n,
			commit: session ? this.#host.services.log.commit : 0n,
			timestamp: 0n,
			status: 0,
			committed: false,
		};
		if (body instanceof Framed) return writeReply(body.frame, reply);
		if (body.length > MAX_FRAME - HEADER) return this.#deny(header, Status.featureUnavailable);
		return replyFrame(reply, body);
	}

	#commit(header: RequestHeader, body: Buffer, client = this.session!.client): Buffer {
		const commit = this.#host.services.log.nextCommit();
		const operation = PREPARED_OPERATION.get(header.operation) ?? header.operation;
		const timestamp = this.#host.services.log.now();
		const reply = { ...header, client, op: commit, commit, timestamp, operation, status: 0, committed: true };
		return replyFrame(reply, body);
	}

	#deny(header: RequestHeader, status: number, client?: Buffer): Buffer {
		return replyFrame(
			{
				...header,
				client: client ?? this.session?.client ?? this.#ownId,
				op: header.operation === Operation.nonReplicated ? (this.session?.number ?? 0n) : 0n,
				commit: this.session ? this.#host.services.log.commit : 0n,
				timestamp: 0n,
				status,
				committed: header.operation !== Operation.nonReplicated,
			},
			NOTHING,
		);
	}
}

function isZero(bytes: Buffer): boolean {
	return bytes.every((byte) => byte === 0);
}

/** Anything that is not a refusal is a fault of the server: it is printed, and the client gets the general error. */
function refusalCode(error: unknown): number {
	if (error instanceof Refusal) return error.code;
	console.error('request failed:', error);
	return 1;
}

function loginReply(session: Session, dialect: Dialect): Buffer {
	const version = Buffer.from(SERVER_VERSION);
	const payload = Buffer.alloc(17 + version.length);
	payload.writeUInt32LE(session.userId, 0);
	payload.writeBigUInt64LE(session.number, 4);
	payload.writeUInt32LE(dialect.window.max, 12);
	payload[16] = version.length;
	version.copy(payload, 17);
	return resultSection(0, payload);
}
