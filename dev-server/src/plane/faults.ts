/** Faults that tests switch on: what the plane then does wrong, on purpose and for a stated number of times. */
import { encodeChange, type Feed } from './feed.js';
import { REASONS, type Readiness, type Reason } from './hello.js';
import type { QueryEngine } from './query_engine.js';
import { type ExecutionStatus, encodeErr, type QueryError, type QueryResult } from './query_reply.js';
import { breakReply, breakStatus, errorOf, REPLY_FAULTS, STATUS_FAULTS } from './reply_faults.js';
import { encodeCbor } from './wire/cbor.js';

export interface FaultRequest {
	kind: string;
	[key: string]: unknown;
}

interface Waiting {
	left: number;
	rule: string;
	/** Which replies: of a first page or a later one, of a status or a cancel; undefined for any. */
	on: string | undefined;
	target: string | undefined;
	field: string | undefined;
}

export type ReplyPlace = 'query' | 'page';
export type StatusPlace = 'status' | 'cancel';

const FEED_FAULTS = ['malformed', 'foreign_index', 'wrong_version'] as const;
type FeedFault = (typeof FEED_FAULTS)[number];

export class Faults {
	#pending = 0;
	#backendUnavailable = 0;
	#reply: Waiting | undefined;
	#status: Waiting | undefined;
	#error: Waiting | undefined;

	constructor(
		private readonly readiness: { operational: Readiness; lakehouse: Readiness },
		private readonly queries: QueryEngine,
		private readonly feed: Feed,
	) {}

	/** False for an unknown kind; rejects with a message on a bad argument. */
	async apply(request: FaultRequest): Promise<boolean> {
		const wanted = request['times'] ?? request['count'];
		const count = typeof wanted === 'number' ? wanted : 1;
		switch (request.kind) {
			case 'clear':
				this.clear();
				return true;
			case 'readiness':
				this.switchReadiness(request);
				return true;
			case 'pending':
				this.#pending = count;
				return true;
			case 'backend_unavailable':
				this.#backendUnavailable = count;
				return true;
			case 'query_reply':
				this.#reply = waiting(request, count, 'rule', REPLY_FAULTS);
				return true;
			case 'status_reply':
				this.#status = waiting(request, count, 'rule', STATUS_FAULTS);
				return true;
			case 'query_error': {
				const error = waiting(request, count, 'error', undefined);
				errorOf(error.rule, new Uint8Array(16));
				this.#error = error;
				return true;
			}
			case 'cursor_expiry': {
				const ms = request['ms'] ?? 0;
				if (typeof ms !== 'number') throw new Error('ms is a number');
				this.queries.executions.cursorLifeMs = ms;
				return true;
			}
			case 'limits': {
				const { concurrent, replyBytes } = request as { concurrent?: number; replyBytes?: number };
				this.queries.limits = {
					concurrent: concurrent ?? this.queries.limits.concurrent,
					replyBytes: replyBytes ?? this.queries.limits.replyBytes,
				};
				return true;
			}
			case 'change_record': {
				const record = request['record'] as FeedFault;
				if (!FEED_FAULTS.includes(record)) throw new Error(`unknown change record fault ${String(record)}`);
				const index = request['index'];
				if (typeof index !== 'string') throw new Error('index is required');
				await publishFeedFault(this.feed, record, index, count);
				return true;
			}
			default:
				return false;
		}
	}

	private clear(): void {
		this.#pending = 0;
		this.#backendUnavailable = 0;
		this.#reply = undefined;
		this.#status = undefined;
		this.#error = undefined;
		this.queries.executions.resetCursorLife();
		this.queries.resetLimits();
	}

	private switchReadiness(request: FaultRequest): void {
		const { operational, lakehouse } = this.readiness;
		const backend = request['backend'];
		const chosen =
			backend === 'operational'
				? [operational]
				: backend === 'lakehouse'
					? [lakehouse]
					: [operational, lakehouse];
		const reason = (request['reason'] as Reason | undefined) ?? 'query_runtime_unavailable';
		if (!REASONS.includes(reason)) throw new Error(`unknown reason ${String(reason)}`);
		for (const one of chosen) {
			if (request['ready'] === true) one.on();
			else one.off(reason, (request['state'] as 'unavailable' | undefined) ?? 'unavailable');
		}
	}

	takePending(): boolean {
		if (this.#pending <= 0) return false;
		this.#pending -= 1;
		return true;
	}

	takeBackendUnavailable(): boolean {
		if (this.#backendUnavailable <= 0) return false;
		this.#backendUnavailable -= 1;
		return true;
	}

	/** The error to answer instead of running a query. */
	queryError(place: ReplyPlace, id: Uint8Array): Uint8Array | undefined {
		const fault = take(this.#error, place, undefined);
		return fault === undefined ? undefined : encodeErr(errorOf(fault.rule, id) as QueryError);
	}

	brokenReply(result: QueryResult, place: ReplyPlace): Uint8Array | undefined {
		const fault = take(this.#reply, place, result.context.resolved_target.kind);
		return fault === undefined ? undefined : breakReply(result, fault.rule, fault.field);
	}

	brokenStatus(status: ExecutionStatus, place: StatusPlace): Uint8Array | undefined {
		const fault = take(this.#status, place, undefined);
		return fault === undefined ? undefined : breakStatus(status, fault.rule);
	}
}

function waiting(
	request: FaultRequest,
	left: number,
	key: string,
	names: readonly string[] | undefined,
): Waiting {
	const rule = request[key];
	if (typeof rule !== 'string' || (names !== undefined && !names.includes(rule)))
		throw new Error(`unknown ${key} ${String(rule)}`);
	const text = (name: string) => (request[name] === undefined ? undefined : String(request[name]));
	return { left, rule, on: text('on'), target: text('target'), field: text('field') };
}

function take(fault: Waiting | undefined, place: string, target: string | undefined): Waiting | undefined {
	if (fault === undefined || fault.left <= 0) return undefined;
	if (fault.on !== undefined && fault.on !== place) return undefined;
	if (fault.target !== undefined && fault.target !== target) return undefined;
	fault.left -= 1;
	return fault;
}

/** Publishes broken or foreign change records where those of `index` go. */
async function publishFeedFault(feed: Feed, kind: FeedFault, index: string, count: number): Promise<void> {
	const change = { partitionId: 0, fromOffset: 0n, toOffset: 0n, rows: 1, sourceStream: '' };
	const payload = (): Uint8Array => {
		switch (kind) {
			case 'malformed':
				return Uint8Array.from([0xa2, 0x61, 0x76, 0x01, 0x65]);
			case 'foreign_index':
				return encodeChange({ ...change, index: `${index}_other` }, false);
			case 'wrong_version':
				return encodeCbor({ v: 2n, index, partition_id: 0n, from_offset: 0n, to_offset: 0n, rows: 1n });
		}
	};
	await feed.append(index, Array.from({ length: count }, payload));
}
