import type { BodyReader } from './body.js';
import type { Services } from './call.js';
import { Code, Eviction, Refusal, Status } from './codes.js';
import { SERVER_VERSION } from './commands/system.js';
import type { Credentials, Dialect, LoginBody } from './dialect.js';
import type { RequestHeader, VersionWindow } from './frame.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';
import { SECRET_LENGTH } from './v12.js';

export interface LoginHost {
	readonly services: Services;
	readonly sessions: Sessions;
	/** The dialect before a login, and the one whose window a refused login is told. */
	readonly preferred: Dialect;
	dialectFor(version: number): Dialect | undefined;
	/** The user's id, or the eviction reason that refuses the login. */
	authenticate(credentials: Credentials): { userId: number } | { reason: number };
}

type Admitted = { session: Session; payload: Buffer };
type Evicted = { reason: number; window?: VersionWindow };

/** How a connection comes to its session, and loses it. */
export class Logins {
	session: Session | undefined;
	dialect: Dialect;
	readonly #host: LoginHost;
	readonly #connectionId: number;

	constructor(connectionId: number, host: LoginHost) {
		this.#connectionId = connectionId;
		this.#host = host;
		this.dialect = host.preferred;
	}

	/** A later login elsewhere with the same client id may have the session now. */
	get active(): boolean {
		return this.session !== undefined && this.session.connectionId === this.#connectionId;
	}

	/** Binding is offered to whoever has no session yet, or one that could be resumed. */
	get mayBind(): boolean {
		return !this.active || this.dialect.resumable;
	}

	get refusedWriteReason(): number {
		return this.session?.outdated && this.dialect.resumable ? Eviction.sessionTooLow : Eviction.noSession;
	}

	commandOf(body: Buffer): number {
		try {
			const dialect = this.#host.dialectFor(body.readUInt32LE()) ?? this.#host.preferred;
			const { credentials } = dialect.readLogin(body.subarray(4));
			return credentials.by === 'token' ? Code.loginWithToken : Code.login;
		} catch {
			return Code.login;
		}
	}

	login(header: RequestHeader, body: Buffer): Admitted | Evicted | 'misstamped' {
		if (body.length < 4) return { reason: Eviction.malformedLogin };
		const dialect = this.#host.dialectFor(body.readUInt32LE());
		if (!dialect) return this.#wrongVersion();
		if (!dialect.stampFits(header, body)) return 'misstamped';
		let login: LoginBody;
		try {
			login = dialect.readLogin(body.subarray(4));
		} catch {
			return { reason: Eviction.malformedLogin };
		}
		const verdict = this.#host.authenticate(login.credentials);
		if ('reason' in verdict) return verdict;
		const { client } = header;
		if (this.active && this.#isAnother(dialect, client)) this.end(false);
		if (!this.active || dialect.resumable) {
			const { secret } = login;
			const owner = { client, userId: verdict.userId, dialect, secret };
			const session = this.#host.sessions.open(owner, this.#connectionId);
			if ('reason' in session) return session;
			this.#enter(session, dialect);
		}
		return this.#admit(this.session!);
	}

	/** Refuses when the session is gone, not the client's, or not yet known to this server. */
	bind(body: BodyReader): Admitted | Evicted {
		const dialect = this.#host.dialectFor(body.u32());
		if (!dialect?.resumable) return this.#wrongVersion();
		body.name();
		body.name();
		const client = Buffer.from(body.take(16));
		const number = body.u64();
		const watermark = body.u64();
		const secret = body.take(SECRET_LENGTH);
		body.end();
		if (watermark > this.#host.services.log.commit) throw new Refusal(Status.notAccepted);
		const session = this.#host.sessions.find(client, number, secret);
		if (!session) throw new Refusal(Status.unauthenticated);
		if (this.session !== session) this.end(false);
		this.#host.sessions.attach(session, this.#connectionId);
		this.#enter(session, dialect);
		return this.#admit(session);
	}

	end(forGood: boolean): void {
		const { session, active } = this;
		this.session = undefined;
		this.#host.services.groups.leaveAll(this.#connectionId);
		if (!session || !active) return;
		if (forGood) this.#host.sessions.close(session);
		else this.#host.sessions.release(session);
	}

	/** In the older dialects a second login gives the session that is there, whatever client id it names. */
	#isAnother(dialect: Dialect, client: Buffer): boolean {
		if (dialect !== this.dialect) return true;
		return dialect.resumable && !client.equals(this.session!.client);
	}

	#enter(session: Session, dialect: Dialect): void {
		this.session = session;
		this.dialect = dialect;
	}

	#wrongVersion(): Evicted {
		return { reason: Eviction.incompatibleProtocol, window: this.#host.preferred.window };
	}

	#admit(session: Session): Admitted {
		const version = Buffer.from(SERVER_VERSION);
		const payload = Buffer.alloc(17 + version.length);
		payload.writeUInt32LE(session.userId, 0);
		payload.writeBigUInt64LE(session.number, 4);
		payload.writeUInt32LE(session.dialect.window.max, 12);
		payload[16] = version.length;
		version.copy(payload, 17);
		return { session, payload };
	}
}
