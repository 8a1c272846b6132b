/** What the query engine needs to know of a target; and the operational one. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { all } from './answer.js';
import type { Binding } from './control_model.js';
import type { Database } from './database.js';
import type { Stop } from './executions.js';
import { CREATED_STREAM, createdTopic } from './feed.js';
import type { Backend, Readiness } from './hello.js';
import type { IndexTable } from './index_model.js';
import type { IndexStore } from './index_store.js';
import type { Projector } from './projector.js';
import { type FrontierEntry, type QueryContext, QueryFailure } from './query_reply.js';
import type { Query } from './query_request.js';
import { indexRelation, type Relation } from './relation.js';
import type { TokenSource, TokenStore } from './token_store.js';

/** The parts of a reply's context that say what was read. */
export type Evidence = Pick<
	QueryContext,
	'resolved_target' | 'boundary' | 'checkpoint_revision' | 'global_state_revision' | 'frontier'
>;

export interface Target {
	relation: Relation;
	/** Snapshot that later pages of the same execution read again; undefined where rows only grow. */
	snapshot: bigint | undefined;
	/** Stored tokens for a text search, and how far they go; undefined where they are made with the query. */
	tokens(): Promise<(TokenSource & { highest: bigint }) | undefined>;
	/** Names of the target in a client's own statements, and the name of its sandbox. */
	sql: { key: string; names: string[] };
	read<T>(work: (db: DuckDBConnection) => Promise<T>): Promise<T>;
	evidence(db: DuckDBConnection): Promise<Evidence>;
}

export interface TargetSource {
	/** Finds the target of a query once it is as fresh as the query asks. `snapshot` is that of the first page. */
	open(query: Query, stop: Stop, snapshot: bigint | undefined): Promise<Target>;
}

/** How long a read-your-writes query waits for the projector before it answers stale. */
const FRESHNESS_WAIT_MS = 5000;

export class OperationalTargets implements TargetSource {
	constructor(
		private readonly database: Database,
		private readonly indexes: IndexStore,
		private readonly projector: Projector,
		private readonly tokens: TokenStore,
		private readonly backend: Backend,
		private readonly readiness: Readiness,
	) {}

	async open(query: Query, stop: Stop): Promise<Target> {
		const { index: name } = query.target as Query['target'] & { kind: 'operational' };
		if (!this.readiness.ready)
			throw new QueryFailure({ TargetUnavailable: { reason: this.readiness.reason } });
		if (query.consistency === 'strong') throw new QueryFailure({ Unsupported: 'consistency strong' });
		if (query.fork !== undefined) throw new QueryFailure({ Unsupported: 'forks' });
		const index = this.indexes.get(name);
		if (index === undefined) throw new QueryFailure({ IndexNotFound: name });
		if (query.consistency === 'read_your_writes') await this.fresh(name, query, stop);
		const { database, backend, tokens } = this;
		return {
			relation: indexRelation(index),
			snapshot: undefined,
			tokens: () => tokens.sync(index),
			sql: { key: `index ${name}`, names: sqlNames(name) },
			read: (work) => database.read(work),
			evidence: async (db) => {
				const frontier = await frontierOf(db, index);
				return {
					resolved_target: {
						kind: 'operational',
						index: index.name,
						backend_resource_id: backend.resourceId,
						backend_generation: backend.generation,
						runtime_configuration_revision: backend.revision,
					},
					boundary: undefined,
					checkpoint_revision: undefined,
					global_state_revision: undefined,
					frontier: frontier.length > 0 ? frontier : undefined,
				};
			},
		};
	}

	private async fresh(name: string, query: Query, stop: Stop): Promise<void> {
		const until = Math.min(Number(query.deadline_micros / 1000n), Date.now() + FRESHNESS_WAIT_MS);
		const ofIndex = (binding: Binding) => binding.index === name;
		if (await this.projector.caughtUp(ofIndex, until, () => stop.stopped)) return;
		stop.check();
		const { applied, required } = this.projector.furthestBehind(name);
		throw new QueryFailure({ Stale: { what: name, applied, required } });
	}
}

/** The name as it is, and without its stream where it has one: inside a statement the target is clear. */
export function sqlNames(name: string): string[] {
	const local = /^stream:[^/]+\/(.+)$/s.exec(name)?.[1];
	return local === undefined || local.toLowerCase() === name.toLowerCase() ? [name] : [name, local];
}

/** What the snapshot of the rows had applied, by source partition. */
async function frontierOf(db: DuckDBConnection, index: IndexTable): Promise<FrontierEntry[]> {
	if (index.created) {
		const [last] = await all(db, `SELECT max(_offset) FROM ${indexRelation(index).sql}`);
		const offset = last![0] as bigint | null;
		if (offset === null) return [];
		return [
			{
				stream: CREATED_STREAM,
				topic: createdTopic(index.name),
				partition_id: 0n,
				topic_created_at_micros: undefined,
				applied_offset: offset,
			},
		];
	}
	const positions = await all(
		db,
		`SELECT s.stream, s.topic, p.partition_id, p.topic_created_at, p.next
		 FROM plane_progress p JOIN plane_source s ON s.id = p.source
		 WHERE p.index_number = ${index.number} AND p.next > 0 ORDER BY ALL`,
	);
	return positions.map(([stream, topic, partition, createdAt, next]) => ({
		stream: stream as string,
		topic: topic as string,
		partition_id: BigInt(partition as number),
		topic_created_at_micros: createdAt as bigint,
		applied_offset: (next as bigint) - 1n,
	}));
}
