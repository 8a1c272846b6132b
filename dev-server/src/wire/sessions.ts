import { Eviction } from './codes.js';
import { Session, type SessionOwner } from './session.js';

const REMEMBERED = 8192;

/** All sessions, by client id. A resumable one waits for its client after its connection ended. */
export class Sessions {
	readonly #byClient = new Map<string, Session>();
	readonly #waiting = new Map<Session, NodeJS.Timeout>();

	constructor(
		readonly options: {
			/** How long a session without a connection is kept. */
			retireMs: number;
			nextNumber: () => bigint;
			/** Told when a session leaves a connection that still stands. */
			taken: (connectionId: number, session: Session) => void;
		},
	) {}

	/** Opens a session for a login, or takes over the one of the same client; an eviction reason when it may not. */
	open(owner: SessionOwner, connectionId: number): Session | { reason: number } {
		const existing = this.#byClient.get(key(owner.client));
		if (existing) {
			if (existing.userId !== owner.userId) return { reason: Eviction.sessionError };
			if (existing.dialect === owner.dialect && existing.knows(owner.secret)) {
				this.attach(existing, connectionId);
				return existing;
			}
			existing.outdated = true;
			this.close(existing);
		}
		this.#makeRoom();
		const session = new Session(this.options.nextNumber(), owner);
		session.connectionId = connectionId;
		this.#byClient.set(key(owner.client), session);
		return session;
	}

	/** The session that a client may go on with; `number` 0 stands for the one of its client id. */
	find(client: Buffer, number: bigint, secret: Buffer): Session | undefined {
		const session = this.#byClient.get(key(client));
		if (!session?.dialect.resumable || !session.knows(secret)) return undefined;
		return number === 0n || number === session.number ? session : undefined;
	}

	attach(session: Session, connectionId: number): void {
		clearTimeout(this.#waiting.get(session));
		this.#waiting.delete(session);
		const before = session.connectionId;
		session.connectionId = connectionId;
		if (before !== undefined && before !== connectionId) this.options.taken(before, session);
	}

	/** The session's connection is gone, or gave it up. */
	release(session: Session): void {
		session.connectionId = undefined;
		if (!session.dialect.resumable) {
			this.close(session);
			return;
		}
		const retirement = setTimeout(() => this.close(session), this.options.retireMs);
		retirement.unref();
		clearTimeout(this.#waiting.get(session));
		this.#waiting.set(session, retirement);
	}

	/** Ends a session for good. */
	close(session: Session): void {
		clearTimeout(this.#waiting.get(session));
		this.#waiting.delete(session);
		if (this.#byClient.get(key(session.client)) === session) this.#byClient.delete(key(session.client));
		const connectionId = session.connectionId;
		session.connectionId = undefined;
		if (connectionId !== undefined) this.options.taken(connectionId, session);
	}

	stop(): void {
		for (const retirement of this.#waiting.values()) clearTimeout(retirement);
	}

	#makeRoom(): void {
		if (this.#byClient.size < REMEMBERED) return;
		const [oldest] = this.#waiting.keys();
		this.close(oldest ?? this.#byClient.values().next().value!);
	}
}

function key(client: Buffer): string {
	return client.toString('hex');
}
