import { timingSafeEqual } from 'node:crypto';
import type { Dialect } from './dialect.js';

const KEPT_REPLIES = 5;
const KEPT_WRITES = 8192;

export interface KeptReply {
	request: bigint;
	checksum: Buffer;
	/** What a repeat of the request is answered with. */
	frame: Buffer;
}

/** A partition write that was applied. */
export interface KeptWrite {
	operation: number;
	incarnation: bigint;
	/** XXH3-64 of the body. */
	digest: bigint;
	frame: Buffer;
}

export interface SessionOwner {
	client: Buffer;
	userId: number;
	dialect: Dialect;
	secret: Buffer | undefined;
}

/** What the server remembers of one login, until logout or retirement. */
export class Session {
	/** Highest metadata request number that was applied. */
	highest = 0n;
	/** The connection that it belongs to now; none while a resumable session waits for its client. */
	connectionId: number | undefined;
	/** Its client id logged in again as another session. */
	outdated = false;
	readonly client: Buffer;
	readonly userId: number;
	readonly dialect: Dialect;
	readonly #secret: Buffer | undefined;
	readonly #replies: KeptReply[] = [];
	readonly #writes = new Map<bigint, KeptWrite | undefined>();
	#forgotten = 0n;

	constructor(
		readonly number: bigint,
		owner: SessionOwner,
	) {
		this.client = owner.client;
		this.userId = owner.userId;
		this.dialect = owner.dialect;
		this.#secret = owner.secret;
	}

	knows(secret: Buffer | undefined): boolean {
		if (!this.#secret || !secret) return this.#secret === secret;
		return this.#secret.length === secret.length && timingSafeEqual(this.#secret, secret);
	}

	keptReply(request: bigint): KeptReply | undefined {
		return this.#replies.find((reply) => reply.request === request);
	}

	keep(reply: KeptReply): void {
		this.highest = reply.request;
		this.#replies.push(reply);
		if (this.#replies.length > KEPT_REPLIES) this.#replies.shift();
	}

	/** Whether a partition write of this number was applied already. Refused ones do not count. */
	wrote(request: bigint): boolean {
		return this.#writes.has(request);
	}

	keptWrite(request: bigint): KeptWrite | undefined {
		return this.#writes.get(request);
	}

	/** Highest number of a partition write that is no longer known. */
	get forgotten(): bigint {
		return this.#forgotten;
	}

	rememberWrite(request: bigint, write?: KeptWrite): void {
		this.#writes.set(request, write);
		if (this.#writes.size <= KEPT_WRITES) return;
		const oldest: bigint = this.#writes.keys().next().value!;
		this.#writes.delete(oldest);
		if (oldest > this.#forgotten) this.#forgotten = oldest;
	}
}
