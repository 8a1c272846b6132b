const KEPT_REPLIES = 5;
const KEPT_WRITES = 8192;

export interface KeptReply {
	request: bigint;
	checksum: Buffer;
	/** What a repeat of the request is answered with. */
	frame: Buffer;
}

/** What the server remembers of one login, until logout or the end of its connection. */
export class Session {
	/** Highest metadata request number that was applied. */
	highest = 0n;
	readonly #replies: KeptReply[] = [];
	readonly #writes = new Set<bigint>();

	constructor(
		readonly number: bigint,
		readonly client: Buffer,
		readonly userId: number,
		/** The connection that it belongs to now: a later login with the same client id takes it over. */
		public connectionId: number,
	) {}

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

	rememberWrite(request: bigint): void {
		this.#writes.add(request);
		if (this.#writes.size > KEPT_WRITES) this.#writes.delete(this.#writes.values().next().value!);
	}
}
