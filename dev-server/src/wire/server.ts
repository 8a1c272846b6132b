import type { AddressInfo, Server } from 'node:net';
import type { Plane } from '../contract.js';
import { RequestFaults } from '../faults/rules.js';
import type { TopicMeta } from '../log/catalog_model.js';
import type { Log } from '../log/log.js';
import type { Access } from './access.js';
import type { ClientInfo, Services } from './call.js';
import { Eviction } from './codes.js';
import { Connection, type ConnectionHost } from './connection.js';
import type { ClusterNode, Credentials, Dialect } from './dialect.js';
import type { Endpoint } from './endpoint.js';
import { Groups } from './groups.js';
import { ParkingSpace } from './parked_reads.js';
import { Producers } from './producers.js';
import { S11, SNAPSHOT } from './s11.js';
import type { Session } from './session.js';
import { Sessions } from './sessions.js';
import { type Accepted, tcpListener } from './tcp.js';
import type { Transport } from './transport.js';
import { type UserOptions, Users } from './users.js';
import { V12 } from './v12.js';
import { webSocketListener } from './websocket.js';

export interface WireOptions {
	users: readonly UserOptions[];
	tokens: readonly string[];
	dialect: DialectChoice;
	strict: boolean;
	/** A group member silent for 1.2 times as long is evicted. */
	heartbeatMs: number;
	/** How long a session that can be resumed is kept without a connection. */
	sessionMs: number;
	/** Reads that may wait at once. */
	deferredPolls: number;
}

/** With `auto` the login decides between the stable release and the newest pre-release. */
export type DialectChoice = 's11' | 'v12' | 'snapshot' | 'auto';

const DIALECTS: Record<DialectChoice, readonly [Dialect, ...Dialect[]]> = {
	s11: [S11],
	v12: [V12],
	snapshot: [SNAPSHOT],
	auto: [S11, V12],
};

/** The streaming protocol on its listeners: connections, sessions, groups. */
export class WireServer implements ConnectionHost {
	readonly services: Services;
	readonly faults = new RequestFaults();
	readonly preferred: Dialect;
	readonly strict: boolean;
	plane: Plane | undefined;
	readonly #users: Users;
	readonly #connections = new Map<number, Connection>();
	readonly sessions: Sessions;
	readonly parkingSpace: ParkingSpace;
	readonly #dialects: readonly Dialect[];
	readonly #servers: Server[] = [];
	readonly #node: ClusterNode = { name: 'tidemark-dev', ip: '127.0.0.1', tcp: 0, http: 0, websocket: 0 };
	readonly #balanced = new WeakMap<TopicMeta, number>();
	readonly #heartbeats: NodeJS.Timeout;
	#nextConnection = 1;
	#refuseUntil = 0;

	constructor(
		readonly log: Log,
		options: WireOptions,
	) {
		this.#users = new Users(log, options.users, options.tokens);
		const dialects = DIALECTS[options.dialect];
		this.preferred = dialects[0];
		this.#dialects = dialects;
		this.parkingSpace = new ParkingSpace(options.deferredPolls);
		this.sessions = new Sessions({
			retireMs: options.sessionMs,
			nextNumber: () => log.nextCommit(),
			taken: (connectionId, session) => this.#taken(connectionId, session),
		});
		this.strict = options.strict;
		this.services = {
			log,
			users: this.#users,
			groups: new Groups(),
			producers: new Producers(),
			node: () => this.#node,
			clients: () => this.#clients(),
			nextBalanced: (topic) => {
				const next = (this.#balanced.get(topic) ?? -1) + 1;
				this.#balanced.set(topic, next);
				return next % topic.partitions.length;
			},
			startedAtMicros: log.now(),
		};
		this.#heartbeats = setInterval(() => this.#evictSilent(options.heartbeatMs * 1.2), options.heartbeatMs);
		this.#heartbeats.unref();
	}

	async listen(tcp: Endpoint | undefined, webSocket: Endpoint | undefined, access: Access): Promise<void> {
		const accept = (transport: Transport): Accepted | undefined => this.#accept(transport);
		if (tcp) this.#node.tcp = await this.#open(tcpListener(accept), tcp);
		if (webSocket) this.#node.websocket = await this.#open(webSocketListener(access, accept), webSocket);
		this.#node.ip = tcp?.host ?? webSocket?.host ?? this.#node.ip;
	}

	/** Bound ports; 0 where nothing listens. */
	get ports(): { tcp: number; websocket: number } {
		return { tcp: this.#node.tcp, websocket: this.#node.websocket };
	}

	setHttpPort(port: number): void {
		this.#node.http = port;
	}

	get connectionCount(): number {
		return this.#connections.size;
	}

	cutAll(): number {
		const cut = this.#connections.size;
		for (const connection of [...this.#connections.values()]) connection.transport.destroy();
		return cut;
	}

	/** Sends something that is no frame to every client. */
	textToAll(text: string): void {
		for (const connection of this.#connections.values()) connection.transport.sendText(text);
	}

	evictAll(reason: number): void {
		for (const connection of this.#connections.values()) if (connection.session) connection.evict(reason);
	}

	refuseFor(ms: number): void {
		this.#refuseUntil = Date.now() + ms;
	}

	async close(): Promise<void> {
		clearInterval(this.#heartbeats);
		this.cutAll();
		this.sessions.stop();
		await Promise.all(this.#servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
	}

	// What a connection asks of its server.

	dialectFor(version: number): Dialect | undefined {
		return this.#dialects.find((dialect) => dialect.accepts(version));
	}

	authenticate(login: Credentials): { userId: number } | { reason: number } {
		const userId =
			login.by === 'password'
				? this.#users.byPassword(login.user, login.password)
				: this.#users.byToken(login.token);
		if (userId !== undefined) return { userId };
		return { reason: login.by === 'password' ? Eviction.invalidCredentials : Eviction.invalidToken };
	}

	managed(code: number, body: Buffer, session: Session, connectionId: number): Promise<Buffer> | undefined {
		return this.plane
			?.handle(code, body, { userId: session.userId, connectionId })
			.then((reply) => Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength));
	}

	closed(connection: Connection): void {
		this.#connections.delete(connection.id);
		this.plane?.connectionClosed(connection.id);
	}

	#accept(transport: Transport): Accepted | undefined {
		if (Date.now() < this.#refuseUntil) return undefined;
		const connection = new Connection(this.#nextConnection++, transport, this);
		this.#connections.set(connection.id, connection);
		return connection;
	}

	#taken(connectionId: number, session: Session): void {
		this.services.groups.leaveAll(connectionId);
		this.#connections.get(connectionId)?.sessionTaken(session);
	}

	#clients(): ClientInfo[] {
		return [...this.#connections.values()]
			.filter((one) => one.session !== undefined)
			.map((one) => ({
				connectionId: one.id,
				userId: one.session!.userId,
				transport: one.transport.kind,
				address: one.transport.address,
			}));
	}

	#evictSilent(limitMs: number): void {
		const now = Date.now();
		for (const connection of this.#connections.values()) {
			if (now - connection.lastHeard <= limitMs) continue;
			if (this.services.groups.of(connection.id).length > 0) connection.evict(Eviction.staleClient);
		}
	}

	#open(server: Server, at: Endpoint): Promise<number> {
		this.#servers.push(server);
		return new Promise((done, fail) => {
			server.once('error', fail);
			server.listen(at.port, at.host, () => done((server.address() as AddressInfo).port));
		});
	}
}
