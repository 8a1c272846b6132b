/** The whole client: everything of `tidemark/watch`, and the managed plane. */

import type { Abortable } from './connect/abort.js';
import { LaserBuilder } from './connect/builder.js';
import type { ManagedId } from './connect/identity.js';
import { LaserHandle } from './connect/laser.js';
import { type MakeCore, openContext } from './connect/open.js';
import type { ConnectOptions } from './connect/options.js';
import { Core } from './core/core.js';
import { full } from './core/full.js';
import { loadCore } from './core/load.js';
import { ownedPage } from './core/query.js';
import { Bindings } from './managed/bindings.js';
import { Projections } from './managed/projections.js';
import {
	cancelQuery,
	type QueryExecutionStatus,
	queryPage,
	queryStatus,
	runQuery,
} from './query/execution.js';
import type { Query } from './query/model.js';
import { QueryRequest, type QueryTarget } from './query/request.js';
import type { QueryResult } from './query/result.js';

export * from './connect/index.js';
export * from './errors/index.js';
export * from './managed/index.js';
export * from './query/index.js';
export * from './storage/index.js';
export * from './topic/index.js';
export * from './watch/index.js';

const makeCore: MakeCore = async (options, wasm) =>
	new Core(await loadCore(full, wasm), options, undefined, ownedPage);

export class Laser extends LaserHandle {
	/**
	 * Connects, logs in and asks once what the server offers, all within the connect budget (30 s).
	 *
	 * @throws {ConfigError} bad options
	 * @throws {TimeoutError} the server accepts and does not answer
	 * @throws {TransportError} no connection came about
	 * @throws {WasmLoadError | CspBlockedError} the core could not be loaded
	 */
	static async connect(url: string | URL, options: ConnectOptions = {}): Promise<Laser> {
		return new Laser(await openContext(url, options, { makeCore }));
	}

	static connectWithStream(url: string | URL, stream: string, options: ConnectOptions = {}): Promise<Laser> {
		return Laser.connect(url, { ...options, stream });
	}

	static builder(): LaserBuilder<Laser> {
		return new LaserBuilder((url, options) => Laser.connect(url, options));
	}

	/** How records become rows. */
	projections(): Projections {
		return new Projections(this.context);
	}

	/** A query on an index. */
	query(index: string): QueryRequest {
		return this.queryTarget({ kind: 'operational', index: this.resourceName(index) });
	}

	/** A query on what a destination wrote. */
	queryLakehouse(destinationId: ManagedId, generation: bigint): QueryRequest {
		return this.queryTarget({ kind: 'lakehouse', destinationId, destinationGeneration: generation });
	}

	/** A query on a target whose name is sent as it is. */
	queryTarget(target: QueryTarget): QueryRequest {
		return new QueryRequest(this.context, target);
	}

	/** Sends a query that was put together by hand. */
	executeQuery(query: Query, signal?: AbortSignal): Promise<QueryResult> {
		return runQuery(this.context, query, signal);
	}

	queryPage(
		executionId: ManagedId,
		cursor: string,
		deadlineMicros: bigint,
		options?: Abortable,
	): Promise<QueryResult> {
		return queryPage(this.context, executionId, cursor, deadlineMicros, options);
	}

	queryStatus(id: ManagedId, options?: Abortable): Promise<QueryExecutionStatus> {
		return queryStatus(this.context, id, options);
	}

	cancelQuery(id: ManagedId, options?: Abortable): Promise<QueryExecutionStatus> {
		return cancelQuery(this.context, id, options);
	}

	/** Which topic feeds which index. */
	bindings(): Bindings {
		return new Bindings(this.context);
	}
}
