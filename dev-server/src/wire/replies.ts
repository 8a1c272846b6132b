import type { Log } from '../log/log.js';
import { NOTHING } from './call.js';
import { Operation, PARTITION_OPERATIONS, PREPARED_OPERATION, Status } from './codes.js';
import {
	evictionFrame,
	HEADER,
	MAX_FRAME,
	type ReplyHeader,
	type RequestHeader,
	replyFrame,
	writeReply,
} from './frame.js';
import { Framed } from './framed.js';
import type { Session } from './session.js';

/** Makes the frames that requests are answered with. */
export class Replies {
	/** Where no session is known, the original server puts a number of the connection in place of the client id. */
	readonly #ownId = Buffer.alloc(16);
	readonly #log: Log;

	constructor(connectionId: number, log: Log) {
		this.#ownId.writeUInt32LE(connectionId);
		this.#log = log;
	}

	evict(reason: number): Buffer {
		return evictionFrame(this.#ownId, reason);
	}

	/** Reads, logins and logouts: nothing was committed. */
	read(session: Session | undefined, header: RequestHeader, body: Buffer | Framed): Buffer {
		const incarnation =
			body instanceof Framed ? (body.incarnation ?? header.incarnation) : header.incarnation;
		const reply: ReplyHeader = {
			...header,
			client: session?.client ?? header.client,
			op: session?.number ?? 0n,
			commit: session ? this.#log.commit : 0n,
			timestamp: 0n,
			status: 0,
			committed: false,
			marked: false,
			incarnation: session?.dialect.contexts ? incarnation : 0n,
		};
		if (body instanceof Framed) return writeReply(body.frame, reply);
		if (body.length > MAX_FRAME - HEADER) return this.deny(session, header, Status.featureUnavailable);
		return replyFrame(reply, body);
	}

	/** The outcome of a write. Without `proof` the frame does not say that it was committed. */
	commit(
		session: Session,
		header: RequestHeader,
		body: Buffer,
		options: { op?: bigint; proof?: boolean } = {},
	): Buffer {
		const op = options.op ?? this.#log.nextCommit();
		const reply: ReplyHeader = {
			...header,
			client: this.#clientOfWrite(session, header),
			op,
			commit: op,
			timestamp: this.#log.now(),
			operation: PREPARED_OPERATION.get(header.operation) ?? header.operation,
			status: 0,
			committed: true,
			marked: session.dialect.marksCommits && options.proof !== false,
			incarnation: session.dialect.contexts ? header.incarnation : 0n,
		};
		return replyFrame(reply, body);
	}

	deny(session: Session | undefined, header: RequestHeader, status: number): Buffer {
		const isRead = header.operation === Operation.nonReplicated;
		const reply: ReplyHeader = {
			...header,
			client: session ? this.#clientOfWrite(session, header) : this.#ownId,
			op: isRead ? (session?.number ?? 0n) : 0n,
			commit: session ? this.#log.commit : 0n,
			timestamp: 0n,
			status,
			committed: !isRead,
			marked: false,
			incarnation: session?.dialect.contexts ? header.incarnation : 0n,
		};
		return replyFrame(reply, NOTHING);
	}

	/** In the older dialects partition writes are answered with the connection's number. */
	#clientOfWrite(session: Session, header: RequestHeader): Buffer {
		const own = !session.dialect.contexts && PARTITION_OPERATIONS.has(header.operation);
		return own ? this.#ownId : session.client;
	}
}
