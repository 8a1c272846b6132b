import { statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Plane } from './contract.js';
import { type Fault, FaultControl } from './faults/control.js';
import { httpServer } from './http/server.js';
import { Log } from './log/log.js';
import { Access } from './wire/access.js';
import { type Endpoint, hostText, parseListener } from './wire/endpoint.js';
import { type DialectChoice, WireServer } from './wire/server.js';

export type {
	AppendEvent,
	AppendedRows,
	CreateIndexOptions,
	DestinationInput,
	DevDestination,
	FieldInput,
	FieldTypeInput,
	NewRecord,
	Plane,
	PlaneLog,
	RowInput,
	SnapshotInfo,
	StoredRecord,
	ValueInput,
} from './contract.js';
export type { Fault, FaultControl } from './faults/control.js';
export { type Gateway, type GatewayOptions, type GatewayStatus, startGateway } from './gateway/index.js';
export type { Log } from './log/log.js';
export type { Endpoint } from './wire/endpoint.js';
export type { DialectChoice } from './wire/server.js';

export interface ServerOptions {
	/** `host:port`; port 0 takes a free one. Without an address the listener stays off. */
	ws?: string;
	tcp?: string;
	http?: string;
	/** Folder that keeps everything; undefined keeps nothing beyond the process. */
	dataDir?: string;
	/** Flush to the device before every acknowledgement. */
	fsync?: boolean;
	/** Users besides the default iggy/iggy; the first one given replaces it. */
	users?: { name: string; password: string }[];
	/** Tokens of the first user, for logins by token. */
	tokens?: string[];
	/** The protocol that logins may choose; `auto` takes the stable release and the newest pre-release. */
	dialect?: DialectChoice;
	/** Leave rule violations unanswered instead of answering status 3. */
	strict?: boolean;
	heartbeatMs?: number;
	/** How long a session that can be resumed is kept without a connection; 10 minutes by default. */
	sessionMs?: number;
	/** Reads that may wait for records at once; 1024 by default. */
	deferredPolls?: number;
	/** Expiry of records of topics that set none. */
	retentionMs?: number;
	/** How often retention looks; 1000 ms by default. */
	retentionEveryMs?: number;
	allowRemote?: boolean;
	/** Pages that may connect besides the server's own; `http://localhost:*` allows any port. */
	origins?: string[];
	hosts?: string[];
	/** Folder of the page that the HTTP listener serves. */
	staticDir?: string;
	/** Run without the managed plane. */
	plane?: boolean;
	readyAfterMs?: number;
	feedPartitions?: number;
	streamTenancy?: boolean;
	/** Faults that wait from the start. */
	faults?: Fault[];
}

export interface DevServer {
	/** As printed by the command line: `ws://host:port`, `host:port`, `http://host:port`. */
	readonly addresses: { ws?: string; tcp?: string; http?: string };
	readonly faults: FaultControl;
	/** Reads and appends directly, without a client. */
	readonly log: Log;
	readonly plane: Plane | undefined;
	readonly wire: WireServer;
	close(): Promise<void>;
}

/** Starts a server; it is ready for clients when this resolves. */
export async function startServer(options: ServerOptions = {}): Promise<DevServer> {
	const endpoints = {
		ws: parseListener(options.ws, options.allowRemote === true),
		tcp: parseListener(options.tcp, options.allowRemote === true),
		http: parseListener(options.http, options.allowRemote === true),
	};
	if (
		options.staticDir !== undefined &&
		!statSync(options.staticDir, { throwIfNoEntry: false })?.isDirectory()
	) {
		throw new Error(`no such folder: ${options.staticDir}`);
	}
	const log = new Log({
		dataDir: options.dataDir,
		fsync: options.fsync,
		retentionMs: options.retentionMs,
	});
	// What was opened, to be closed in reverse order: at the end, and when a start breaks off half way.
	const closers: Closer[] = [() => log.close()];
	try {
		return await open(log, options, endpoints, closers);
	} catch (error) {
		await closeAll(closers);
		throw error;
	}
}

type Endpoints = Record<'ws' | 'tcp' | 'http', Endpoint | undefined>;

type Closer = () => unknown;

async function closeAll(closers: Closer[]): Promise<void> {
	for (const close of closers.splice(0).reverse()) await close();
}

async function open(
	log: Log,
	options: ServerOptions,
	endpoints: Endpoints,
	closers: Closer[],
): Promise<DevServer> {
	const wire = new WireServer(log, {
		users: options.users?.length ? options.users : [{ name: 'iggy', password: 'iggy' }],
		tokens: options.tokens ?? [],
		dialect: options.dialect ?? 's11',
		strict: options.strict ?? false,
		heartbeatMs: options.heartbeatMs ?? 30_000,
		sessionMs: options.sessionMs ?? 600_000,
		deferredPolls: options.deferredPolls ?? 1024,
	});
	const plane = options.plane === false ? undefined : await openPlane(log, options);
	wire.plane = plane;
	closers.push(() => plane?.close());
	const faults = new FaultControl(wire, log, plane);
	for (const fault of options.faults ?? []) await faults.apply(fault);
	const access = new Access({
		origins: options.origins ?? [],
		hosts: options.hosts ?? [],
		anyHost: options.allowRemote === true,
	});
	const addresses: DevServer['addresses'] = {};
	const http = httpServer({
		access,
		staticDir: options.staticDir,
		info: () => ({ ...addresses }),
		webSocketPort: () => wire.ports.websocket,
		fault: (body) => applyAll(faults, body),
		status: () => ({ connections: wire.connectionCount, waitingFaults: wire.faults.pending }),
	});
	closers.push(async () => {
		if (!http.listening) return;
		http.closeAllConnections();
		await new Promise((done) => http.close(done));
	});
	closers.push(() => wire.close());
	// The page must be allowed before the first socket can be opened.
	if (endpoints.http) {
		const port = await new Promise<number>((done, fail) => {
			http.once('error', fail);
			http.listen(endpoints.http!.port, endpoints.http!.host, () =>
				done((http.address() as AddressInfo).port),
			);
		});
		access.allowOwnPages(port);
		wire.setHttpPort(port);
		addresses.http = `http://${hostText(endpoints.http)}:${port}`;
	}
	await wire.listen(endpoints.tcp, endpoints.ws, access);
	if (endpoints.ws) addresses.ws = `ws://${hostText(endpoints.ws)}:${wire.ports.websocket}`;
	if (endpoints.tcp) addresses.tcp = `${hostText(endpoints.tcp)}:${wire.ports.tcp}`;
	const retention = setInterval(() => log.enforceRetention(), options.retentionEveryMs ?? 1000);
	retention.unref();
	closers.push(() => clearInterval(retention));
	return {
		addresses,
		faults,
		log,
		plane,
		wire,
		close: () => closeAll(closers),
	};
}

async function openPlane(log: Log, options: ServerOptions): Promise<Plane> {
	// Loaded when wanted: the database is a large native library.
	const { createPlane } = await import('./plane/index.js');
	return createPlane(log, {
		...(options.dataDir ? { dataDir: join(options.dataDir, 'plane') } : {}),
		readyAfterMs: options.readyAfterMs ?? 0,
		feedPartitions: options.feedPartitions ?? 1,
		streamTenancy: options.streamTenancy ?? false,
	});
}

async function applyAll(faults: FaultControl, body: unknown): Promise<unknown> {
	const list = Array.isArray(body) ? body : [body];
	const results: unknown[] = [];
	for (const one of list) {
		if (typeof one !== 'object' || one === null || typeof (one as Fault).kind !== 'string') {
			throw new Error('a fault is an object with a kind');
		}
		results.push(await faults.apply(one as Fault));
	}
	return Array.isArray(body) ? results : results[0];
}
