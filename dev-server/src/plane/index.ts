/** The managed side of the development server: everything from command code 1,000,000 up. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { blobValue } from '@duckdb/node-api';
import type { CallContext, Plane, PlaneLog, PlaneOptions } from '../contract.js';
import { Browse } from './browse.js';
import { blob, Catalog } from './catalog.js';
import { Control } from './control.js';
import { readControlEnvelope } from './control_model.js';
import { Database, rows } from './database.js';
import {
	breakReply,
	Faults,
	FEED_FAULTS,
	type FeedFault,
	publishFeedFault,
	REPLY_FAULTS,
	type ReplyFault,
} from './faults.js';
import { Feed } from './feed.js';
import { announce, type Backend, Readiness, type Reason } from './hello.js';
import { IndexStore } from './index_store.js';
import { Outbox } from './outbox.js';
import { Outcomes, requestDigest } from './outcomes.js';
import { Progress } from './progress.js';
import { Projector, type ProjectorCounts } from './projector.js';
import { QueryEngine } from './query_engine.js';
import { encodeErr, encodeOk, QueryFailure } from './query_reply.js';
import { readExecutionRequest, readPageEnvelope, readQueryEnvelope } from './query_request.js';
import { decodeCbor } from './wire/cbor.js';
import { commandError, isWrappedMutation, readMutationEnvelope, readReadEnvelope } from './wire/envelope.js';
import { Refusal } from './wire/refusal.js';

const CODE = {
	hello: 1_000_000,
	control: 1_000_108,
	query: 1_000_200,
	queryPage: 1_000_201,
	queryCancel: 1_000_202,
	queryStatus: 1_000_203,
	getProjection: 1_000_210,
	listProjections: 1_000_211,
	getSchema: 1_000_220,
	listSchemas: 1_000_221,
	registerSchema: 1_000_222,
	decodeRecord: 1_000_223,
} as const;

const QUERY_SURFACE: ReadonlySet<number> = new Set([
	CODE.query,
	CODE.queryPage,
	CODE.queryCancel,
	CODE.queryStatus,
	CODE.getProjection,
	CODE.listProjections,
	CODE.getSchema,
	CODE.listSchemas,
	CODE.registerSchema,
	CODE.decodeRecord,
]);

export interface FaultRequest {
	kind: string;
	[key: string]: unknown;
}

export interface DevPlane extends Plane {
	/**
	 * Switches a fault on and answers true; false for an unknown kind. Kinds: `readiness` { ready, reason?, state? },
	 * `pending` { times? }, `backend_unavailable` { times? }, `query_reply` { rule, times? },
	 * `change_record` { record: malformed | foreign_index | wrong_version, index, times? }, `clear`. Throws on a bad argument.
	 */
	fault(request: FaultRequest): Promise<boolean>;
	/** What the projector did since start. */
	projectorCounts(): ProjectorCounts;
}

export async function createPlane(log: PlaneLog, options: PlaneOptions): Promise<DevPlane> {
	if (options.dataDir !== undefined) await mkdir(options.dataDir, { recursive: true });
	const database = await Database.open(options.dataDir);
	try {
		const parts = await openParts(log, database, options);
		return new ManagedPlane(parts, options);
	} catch (error) {
		await database.close();
		throw error;
	}
}

async function openParts(log: PlaneLog, database: Database, options: PlaneOptions) {
	const backend = await openBackend(database);
	const catalog = await Catalog.open(database);
	const indexes = await IndexStore.open(database);
	const outcomes = await Outcomes.open(database);
	const progress = await Progress.open(database);
	const feed = new Feed(log, options.feedPartitions, options.streamTenancy);
	await feed.open();
	const projector = new Projector(log, database, catalog, indexes, progress, new Outbox(database, feed));
	await projector.start();
	return {
		database,
		backend,
		feed,
		projector,
		outcomes,
		control: new Control(catalog, indexes, feed),
		browse: new Browse(catalog, database),
		queries: new QueryEngine(database, indexes, projector, backend),
	};
}

async function openBackend(database: Database): Promise<Backend> {
	return database.transaction(async (db) => {
		await db.run('CREATE TABLE IF NOT EXISTS plane_backend (resource_id BLOB)');
		const [known] = await rows(db, 'SELECT resource_id FROM plane_backend');
		let resourceId = known === undefined ? undefined : new Uint8Array(blob(known[0]));
		if (resourceId === undefined) {
			resourceId = new Uint8Array(randomBytes(16));
			await db.run('INSERT INTO plane_backend VALUES ($1)', [blobValue(resourceId)]);
		}
		return { resourceId, generation: 1n, revision: 1n };
	});
}

type Parts = Awaited<ReturnType<typeof openParts>>;

class ManagedPlane implements DevPlane {
	readonly #readiness: Readiness;
	readonly #faults = new Faults();

	constructor(
		private readonly parts: Parts,
		private readonly options: PlaneOptions,
	) {
		this.#readiness = new Readiness(options.readyAfterMs);
	}

	async handle(code: number, body: Uint8Array, _context: CallContext): Promise<Uint8Array> {
		try {
			return await this.dispatch(code, body);
		} catch (error) {
			return this.refusalReply(error);
		}
	}

	private refusalReply(error: unknown): Uint8Array {
		if (error instanceof QueryFailure) return encodeErr(error.error);
		if (error instanceof Refusal) return commandError('invalid_argument', error.message);
		return commandError('backend', error instanceof Error ? error.message : String(error));
	}

	private async dispatch(code: number, body: Uint8Array): Promise<Uint8Array> {
		if (code === CODE.hello) return announce(this.#readiness, this.parts.backend, this.options.streamTenancy);
		const mutation = isWrappedMutation(code);
		// A mutation's envelope is checked even where its surface is not served.
		const envelope = mutation ? readMutationEnvelope(decodeCbor(body)) : undefined;
		if (code !== CODE.control && !QUERY_SURFACE.has(code)) {
			return commandError('unsupported', `command ${code} is not served here`);
		}
		if (this.#faults.takeBackendUnavailable()) return commandError('backend_unavailable', 'fault switch');
		if (!this.#readiness.ready) {
			return code === CODE.query || code === CODE.queryPage
				? encodeErr({ TargetUnavailable: { reason: this.#readiness.reason } })
				: commandError('unavailable', this.#readiness.reason);
		}
		if (envelope !== undefined) return this.mutate(code, envelope.operation_id, envelope.payload);
		const item = decodeCbor(body);
		const read = readReadEnvelope(item);
		return this.answer(code, read === undefined ? item : decodeCbor(read.read));
	}

	private async mutate(code: number, operationId: bigint, payload: Uint8Array): Promise<Uint8Array> {
		const { database, outcomes, control, projector } = this.parts;
		const digest = requestDigest(code, payload);
		const known = await database.read((db) => outcomes.find(db, operationId, digest));
		if (known.kind === 'other_request') {
			return commandError('conflict', 'this operation identity belongs to another request');
		}
		if (known.kind === 'stored') return this.outcome(known.reply);
		const accepted = await control.accept(readControlEnvelope(decodeCbor(payload)));
		if (accepted.kind === 'unsupported')
			return commandError('unsupported', `${accepted.what} is not served here`);
		const reply = commandError('ok', '');
		const repeated = await database.transaction(async (db) => {
			// Two copies of one request may arrive together: only the first applies.
			const again = await outcomes.find(db, operationId, digest);
			if (again.kind !== 'new') return again.kind === 'stored' ? again.reply : undefined;
			const publish = await accepted.apply(db);
			await outcomes.store(db, operationId, digest, reply);
			return { publish };
		});
		if (repeated instanceof Uint8Array) return this.outcome(repeated);
		if (repeated === undefined)
			return commandError('conflict', 'this operation identity belongs to another request');
		repeated.publish();
		projector.wake();
		return this.outcome(reply);
	}

	private outcome(reply: Uint8Array): Uint8Array {
		return this.#faults.takePending() ? commandError('pending', 'fault switch') : reply;
	}

	private async answer(code: number, item: unknown): Promise<Uint8Array> {
		const { browse, queries } = this.parts;
		switch (code) {
			case CODE.query: {
				const envelope = readQueryEnvelope(item);
				checkVersion(envelope.v);
				return this.reply(await queries.query(envelope.query()));
			}
			case CODE.queryPage: {
				const request = readPageEnvelope(item);
				checkVersion(request.v);
				return this.reply(await queries.page(request));
			}
			case CODE.queryCancel:
			case CODE.queryStatus: {
				const request = readExecutionRequest(item);
				checkVersion(request.v);
				const status =
					code === CODE.queryStatus
						? queries.status(request.execution_id)
						: queries.cancel(request.execution_id);
				return status === undefined ? commandError('not_found', 'no such execution') : encodeOk(status);
			}
			case CODE.getProjection:
				return browse.getProjection(item);
			case CODE.listProjections:
				return browse.listProjections(item);
			case CODE.getSchema:
				return browse.getSchema(item);
			case CODE.listSchemas:
				return browse.listSchemas(item);
			case CODE.registerSchema:
				return browse.registerSchema(item);
			default:
				return browse.decodeRecord(item);
		}
	}

	private reply(result: Parameters<typeof breakReply>[0]): Uint8Array {
		const rule = this.#faults.takeReply();
		return rule === undefined ? encodeOk(result) : breakReply(result, rule);
	}

	async fault(request: FaultRequest): Promise<boolean> {
		const wanted = request['times'] ?? request['count'];
		const count = typeof wanted === 'number' ? wanted : 1;
		switch (request.kind) {
			case 'clear':
				this.#faults.clear();
				return true;
			case 'readiness':
				if (request['ready'] === true) this.#readiness.on();
				else {
					this.#readiness.off(
						(request['reason'] as Reason | undefined) ?? 'query_runtime_unavailable',
						(request['state'] as 'unavailable' | undefined) ?? 'unavailable',
					);
				}
				return true;
			case 'pending':
				this.#faults.pending = count;
				return true;
			case 'backend_unavailable':
				this.#faults.backendUnavailable = count;
				return true;
			case 'query_reply': {
				const rule = request['rule'] as ReplyFault;
				if (!REPLY_FAULTS.includes(rule)) throw new Error(`unknown rule ${String(rule)}`);
				this.#faults.reply = { rule, left: count };
				return true;
			}
			case 'change_record': {
				const record = request['record'] as FeedFault;
				if (!FEED_FAULTS.includes(record)) throw new Error(`unknown change record fault ${String(record)}`);
				const index = request['index'];
				if (typeof index !== 'string') throw new Error('index is required');
				await publishFeedFault(this.parts.feed, record, index, count);
				return true;
			}
			default:
				return false;
		}
	}

	projectorCounts(): ProjectorCounts {
		return this.parts.projector.counts;
	}

	connectionClosed(_connectionId: number): void {
		// Nothing of the plane ends with a connection yet.
	}

	settle(): Promise<void> {
		return this.parts.projector.settle();
	}

	async close(): Promise<void> {
		this.#readiness.close();
		await this.parts.projector.close();
		await this.parts.database.close();
	}
}

function checkVersion(v: bigint): void {
	if (v !== 1n) throw new QueryFailure({ Version: { expected: 1n, got: v } });
}
