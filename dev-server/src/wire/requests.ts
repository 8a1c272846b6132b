import { hash64 } from '../log/hash.js';
import { BodyReader } from './body.js';
import { type Call, NOTHING, type Services } from './call.js';
import {
	Code,
	Eviction,
	FIRST_MANAGED_CODE,
	METADATA_OPERATIONS,
	Operation,
	PARTITION_OPERATIONS,
	REPLICATED_CODES,
	Refusal,
	Status,
	UPDATE_RESOURCE,
} from './codes.js';
import { CONTEXT_READS, METADATA_WRITES, PARTITION_WRITES, READS, WAITING_READS } from './commands/table.js';
import type { Dialect } from './dialect.js';
import { evictionFrame, type RequestHeader } from './frame.js';
import { Framed } from './framed.js';
import { type LoginHost, Logins } from './logins.js';
import { ParkedReads, type ParkingSpace } from './parked_reads.js';
import { Replies } from './replies.js';
import { isZero, resultSection } from './reply.js';
import type { Session } from './session.js';

/** The server as the requests of a connection see it. */
export interface RequestHost extends LoginHost {
	readonly services: Services;
	/** Leave rule violations unanswered, as the original server does, instead of answering status 3. */
	readonly strict: boolean;
	readonly parkingSpace: ParkingSpace;
	managed(code: number, body: Buffer, session: Session, connectionId: number): Promise<Buffer> | undefined;
}

/** What a request is answered with; undefined is silence. */
export type Outcome = Buffer | undefined;

/** A reply that the requests behind it do not wait for. */
export class Later {
	constructor(readonly reply: Promise<Outcome>) {}
}

/** Executes the requests of one connection. */
export class Requests {
	readonly parked: ParkedReads;
	readonly #host: RequestHost;
	readonly #connectionId: number;
	readonly #replies: Replies;
	readonly #logins: Logins;

	constructor(connectionId: number, host: RequestHost) {
		this.#host = host;
		this.#connectionId = connectionId;
		this.parked = new ParkedReads(host.parkingSpace);
		this.#logins = new Logins(connectionId, host);
		this.#replies = new Replies(connectionId, host.services.log);
	}

	get session(): Session | undefined {
		return this.#logins.session;
	}

	get dialect(): Dialect {
		return this.#logins.dialect;
	}

	/** The command that a request stands for; a login's body alone tells password from token. */
	commandOf(header: RequestHeader, body: Buffer): number {
		if (header.operation === Operation.nonReplicated) return header.code;
		if (header.operation === Operation.logout) return Code.logout;
		if (header.operation === Operation.register) return this.#logins.commandOf(body);
		return METADATA_OPERATIONS.get(header.operation) ?? PARTITION_OPERATIONS.get(header.operation) ?? 0;
	}

	execute(header: RequestHeader, body: Buffer): Outcome | Promise<Outcome> | Later {
		if (isZero(header.client)) return this.#violation(header);
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
		if (metadata === undefined && partition === undefined) return this.#unknown(header);
		if (!this.#logins.active) return this.#replies.evict(this.#logins.refusedWriteReason);
		const session = this.session!;
		if (header.request === 0n || header.session === 0n) return this.#violation(header);
		if (this.dialect.resumable && header.session !== session.number) {
			if (header.session > session.number) return this.#violation(header);
			this.parked.end();
			this.#logins.end(false);
			return this.#replies.evict(Eviction.sessionTooLow);
		}
		if (!this.dialect.stampFits(header, body)) return this.#deny(header, Status.invalidFormat);
		return metadata === undefined
			? this.#partitionWrite(header, body, partition!)
			: this.#metadataWrite(header, body, metadata);
	}

	/** The session leaves the connection; `forGood` when it cannot be gone on with. */
	endSession(forGood: boolean): void {
		this.#logins.end(forGood);
	}

	evictionFrame(reason: number): Buffer {
		return this.#replies.evict(reason);
	}

	deny(header: RequestHeader, status: number): Buffer {
		return this.#deny(header, status);
	}

	#violation(header: RequestHeader): Outcome {
		return this.#host.strict ? undefined : this.#deny(header, Status.invalidCommand);
	}

	#unknown(header: RequestHeader): Outcome {
		const known = header.operation === UPDATE_RESOURCE && this.dialect.retired.has(Code.updateTopic);
		return known ? this.#deny(header, Status.featureUnavailable) : this.#violation(header);
	}

	#login(header: RequestHeader, body: Buffer): Outcome {
		if (header.request !== 0n || header.session !== 0n) return this.#violation(header);
		const verdict = this.#logins.login(header, body);
		if (verdict === 'misstamped') return this.#deny(header, Status.invalidFormat);
		if ('reason' in verdict) return evictionFrame(header.client, verdict.reason, verdict.window);
		return this.#replies.read(verdict.session, header, resultSection(0, verdict.payload));
	}

	#bind(header: RequestHeader, body: Buffer): Outcome {
		const verdict = this.#logins.bind(new BodyReader(body));
		if ('reason' in verdict) return evictionFrame(header.client, verdict.reason, verdict.window);
		return this.#replies.read(verdict.session, header, verdict.payload);
	}

	#logout(header: RequestHeader, body: Buffer): Outcome {
		if (this.session && !this.dialect.stampFits(header, body)) {
			return this.#deny(header, Status.invalidFormat);
		}
		const reply = this.#replies.read(this.session, header, NOTHING);
		this.#logins.end(true);
		this.parked.end(new Refusal(Status.unauthenticated));
		return reply;
	}

	#read(header: RequestHeader, body: Buffer): Outcome | Promise<Outcome> | Later {
		if (!this.dialect.stampFits(header, body)) return this.#deny(header, Status.invalidFormat);
		if (header.code === Code.ping) return this.#replies.read(this.session, header, NOTHING);
		try {
			if (header.code === Code.bindSession && this.#logins.mayBind) return this.#bind(header, body);
			if (!this.#logins.active) throw new Refusal(Status.unauthenticated);
			return this.#readWithSession(header, body, this.session!);
		} catch (error) {
			return this.#deny(header, refusalCode(error));
		}
	}

	#readWithSession(
		header: RequestHeader,
		body: Buffer,
		session: Session,
	): Outcome | Promise<Outcome> | Later {
		const { contexts, retired } = this.dialect;
		if (retired.has(header.code)) throw new Refusal(Status.invalidCommand);
		if (contexts && header.minimumOp > this.#host.services.log.commit) {
			throw new Refusal(Status.notAccepted);
		}
		if (header.code >= FIRST_MANAGED_CODE) {
			const managed = this.#host.managed(header.code, body, session, this.#connectionId);
			if (!managed) throw new Refusal(Status.invalidCommand);
			return managed.then((bytes) => this.#replies.read(session, header, bytes));
		}
		if (contexts && header.code === Code.cancelDeferred) {
			this.parked.cancel(header.request);
			return undefined;
		}
		const waiting = contexts ? WAITING_READS.get(header.code) : undefined;
		if (waiting) return this.#wait(header, session, waiting(this.#call(header, body)));
		const handler = READS.get(header.code) ?? (contexts ? CONTEXT_READS.get(header.code) : undefined);
		if (!handler) {
			const known = REPLICATED_CODES.has(header.code);
			throw new Refusal(known ? Status.featureUnavailable : Status.invalidCommand);
		}
		return this.#replies.read(session, header, handler(this.#call(header, body)));
	}

	#wait(
		header: RequestHeader,
		session: Session,
		reply: Framed | Promise<Framed | undefined>,
	): Outcome | Later {
		if (reply instanceof Framed) return this.#replies.read(session, header, reply);
		return new Later(
			reply.then(
				(framed) => framed && this.#replies.read(session, header, framed),
				(error: unknown) => this.#replies.deny(session, header, refusalCode(error)),
			),
		);
	}

	#metadataWrite(header: RequestHeader, body: Buffer, code: number): Outcome {
		const session = this.session!;
		if (this.dialect.retired.has(code)) return this.#deny(header, Status.invalidCommand);
		if (header.request <= session.highest) {
			const kept = session.keptReply(header.request);
			if (!kept) {
				const applied = resultSection(Status.alreadyApplied);
				return this.#replies.commit(session, header, applied, { proof: false });
			}
			const differs =
				!isZero(header.checksum) && !isZero(kept.checksum) && !header.checksum.equals(kept.checksum);
			return differs ? this.#violation(header) : kept.frame;
		}
		const handler = METADATA_WRITES.get(code);
		if (!handler) return this.#deny(header, Status.featureUnavailable);
		// New partitions take the number of the commit that makes them.
		const op = this.#host.services.log.nextCommit();
		let payload: Buffer;
		try {
			payload = resultSection(0, handler(this.#call(header, body)));
		} catch (error) {
			if (!(error instanceof Refusal) || !error.committed) return this.#deny(header, refusalCode(error));
			payload = resultSection(error.code);
		}
		const frame = this.#replies.commit(session, header, payload, { op });
		// A token is shown once: the repeat of its creation says that it exists.
		const replay =
			code === Code.createToken
				? this.#replies.commit(session, header, resultSection(Status.tokenExists))
				: frame;
		session.keep({ request: header.request, checksum: header.checksum, frame: replay });
		return frame;
	}

	#partitionWrite(header: RequestHeader, body: Buffer, code: number): Outcome {
		const session = this.session!;
		const { repeats } = this.dialect;
		const framed = header.operation !== Operation.send;
		// Batches are stamped in place: the frame is recognised by what it was.
		const digest = repeats === 'by frame' ? hash64(body) : 0n;
		if (repeats !== 'never' && session.wrote(header.request)) {
			if (repeats === 'by number') {
				return this.#replies.commit(session, header, framed ? resultSection(0) : NOTHING);
			}
			const kept = session.keptWrite(header.request)!;
			const same =
				kept.digest === digest &&
				kept.incarnation === header.incarnation &&
				kept.operation === header.operation;
			return same ? kept.frame : this.#violation(header);
		}
		if (repeats === 'by frame' && header.request <= session.forgotten) {
			return this.#deny(header, Status.requestTooOld);
		}
		try {
			if (this.dialect.contexts && header.minimumOp > this.#host.services.log.commit) {
				throw new Refusal(Status.notAccepted);
			}
			const payload = PARTITION_WRITES.get(code)!(this.#call(header, body));
			const frame = this.#replies.commit(session, header, framed ? resultSection(0, payload) : payload);
			if (repeats === 'by number') session.rememberWrite(header.request);
			else if (repeats === 'by frame') {
				const { operation, incarnation } = header;
				session.rememberWrite(header.request, { operation, incarnation, digest, frame });
			}
			return frame;
		} catch (error) {
			return this.#deny(header, refusalCode(error));
		}
	}

	#call(header: RequestHeader, body: Buffer): Call {
		return {
			services: this.#host.services,
			dialect: this.dialect,
			session: this.session!,
			connectionId: this.#connectionId,
			header,
			body: new BodyReader(body),
			parked: this.parked,
		};
	}

	#deny(header: RequestHeader, status: number): Buffer {
		return this.#replies.deny(this.session, header, status);
	}
}

/** Anything that is not a refusal is a fault of the server: it is printed, and the client gets the general error. */
function refusalCode(error: unknown): number {
	if (error instanceof Refusal) return error.code;
	console.error('request failed:', error);
	return 1;
}
