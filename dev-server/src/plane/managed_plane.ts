/** Dispatch of managed commands: envelopes, readiness, faults, and the surface that answers. */
import type {
	AppendedRows,
	CallContext,
	CreateIndexOptions,
	DestinationInput,
	DevDestination,
	FieldInput,
	Plane,
	PlaneOptions,
	RowInput,
} from '../contract.js';
import { readControlEnvelope } from './control_model.js';
import { CreatedDestination } from './dev_destination.js';
import type { FaultRequest, ReplyPlace, StatusPlace } from './faults.js';
import { announce } from './hello.js';
import { requestDigest } from './outcomes.js';
import type { Parts } from './parts.js';
import type { ProjectorCounts } from './projector.js';
import type { EncodedReply } from './query_engine.js';
import { encodeErr, encodeOk, QueryFailure } from './query_reply.js';
import { readExecutionRequest, readPageEnvelope, readQueryEnvelope } from './query_request.js';
import { decodeCbor } from './wire/cbor.js';
import { commandError, isWrappedMutation, readMutationEnvelope, readReadEnvelope } from './wire/envelope.js';
import { Refusal } from './wire/refusal.js';

const CODE = {
	hello: 1_000_000,
	destinationGet: 1_000_022,
	destinationList: 1_000_023,
	queryRouteList: 1_000_024,
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

const SERVED: ReadonlySet<number> = new Set(Object.values(CODE));

/** Surfaces that look at a backend's readiness themselves. */
const OF_ANY_BACKEND: ReadonlySet<number> = new Set([
	CODE.destinationGet,
	CODE.destinationList,
	CODE.queryRouteList,
	CODE.query,
	CODE.queryPage,
	CODE.queryCancel,
	CODE.queryStatus,
]);

export interface DevPlane extends Plane {
	/** Switches a fault on and answers true; false for an unknown kind. Kinds: the folder's README. Throws on a bad argument. */
	fault(request: FaultRequest): Promise<boolean>;
	/** What the projector did since start. */
	projectorCounts(): ProjectorCounts;
}

export class ManagedPlane implements DevPlane {
	constructor(
		private readonly parts: Parts,
		private readonly options: PlaneOptions,
	) {}

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
		const { readiness, backends, faults } = this.parts;
		if (code === CODE.hello) return announce(readiness, backends, this.options.streamTenancy);
		const mutation = isWrappedMutation(code);
		// A mutation's envelope is checked even where its surface is not served.
		const envelope = mutation ? readMutationEnvelope(decodeCbor(body)) : undefined;
		if (!SERVED.has(code)) return commandError('unsupported', `command ${code} is not served here`);
		if (faults.takeBackendUnavailable()) return commandError('backend_unavailable', 'fault switch');
		const { operational, lakehouse } = readiness;
		const ready = operational.ready || (OF_ANY_BACKEND.has(code) && lakehouse.ready);
		if (!ready) {
			return code === CODE.query || code === CODE.queryPage
				? encodeErr({ TargetUnavailable: { reason: operational.reason } })
				: commandError('unavailable', operational.reason);
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
		return this.parts.faults.takePending() ? commandError('pending', 'fault switch') : reply;
	}

	private async answer(code: number, item: unknown): Promise<Uint8Array> {
		const { browse, queries, destinationReads } = this.parts;
		switch (code) {
			case CODE.query: {
				const envelope = readQueryEnvelope(item);
				checkVersion(envelope.v);
				const query = envelope.query();
				const place = query.page.cursor === undefined ? 'query' : 'page';
				return this.reply(place, query.execution_id, () => queries.query(query));
			}
			case CODE.queryPage: {
				const request = readPageEnvelope(item);
				checkVersion(request.v);
				return this.reply('page', request.execution_id, () => queries.page(request));
			}
			case CODE.queryCancel:
				return this.status('cancel', item);
			case CODE.queryStatus:
				return this.status('status', item);
			case CODE.destinationGet:
				return destinationReads.get(item);
			case CODE.destinationList:
				return destinationReads.list(item);
			case CODE.queryRouteList:
				return destinationReads.routes(item);
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

	private async reply(
		place: ReplyPlace,
		id: Uint8Array,
		run: () => Promise<EncodedReply>,
	): Promise<Uint8Array> {
		const error = this.parts.faults.queryError(place, id);
		if (error !== undefined) return error;
		const { result, bytes } = await run();
		return this.parts.faults.brokenReply(result, place) ?? bytes;
	}

	private status(place: StatusPlace, item: unknown): Uint8Array {
		const { queries, faults } = this.parts;
		const request = readExecutionRequest(item);
		checkVersion(request.v);
		const id = request.execution_id;
		const status = place === 'status' ? queries.status(id) : queries.cancel(id);
		if (status === undefined) return commandError('not_found', 'no such execution');
		return faults.brokenStatus(status, place) ?? encodeOk(status);
	}

	fault(request: FaultRequest): Promise<boolean> {
		return this.parts.faults.apply(request);
	}

	createIndex(
		name: string,
		schema: readonly FieldInput[],
		rows: Iterable<RowInput> = [],
		options: CreateIndexOptions = {},
	): Promise<void> {
		return this.parts.created.create(name, schema, rows, options);
	}

	appendRows(index: string, rows: Iterable<RowInput>): Promise<AppendedRows> {
		return this.parts.created.append(index, rows);
	}

	async createDestination(destination: DestinationInput): Promise<DevDestination> {
		const { destinations } = this.parts;
		return new CreatedDestination(destinations, await destinations.create(destination));
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
		this.parts.readiness.operational.close();
		this.parts.readiness.lakehouse.close();
		await this.parts.projector.close();
		await this.parts.queries.close();
		await this.parts.destinations.close();
		await this.parts.database.close();
	}
}

function checkVersion(v: bigint): void {
	if (v !== 1n) throw new QueryFailure({ Version: { expected: 1n, got: v } });
}
