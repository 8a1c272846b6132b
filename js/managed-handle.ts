import { feedSource, type TopicSourceOptions, topicSource } from './changefeed/sources.js';
import type { RangeAdvanced, RowChange, Source } from './changefeed/types.js';
import type { Abortable } from './connect/abort.js';
import type { Capabilities } from './connect/capabilities.js';
import { ConnectingHandle } from './connect/entry.js';
import type { ManagedId } from './connect/identity.js';
import { Bindings } from './managed/bindings.js';
import { Projections } from './managed/projections.js';
import { Schemas } from './managed/schemas.js';
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
import { PublishableStream, PublishableTopic } from './topic/publishable.js';

/** A handle with publishing and the managed plane's calls. */
export class ManagedHandle extends ConnectingHandle {
	/** What the server offers. Asks it again by itself when it showed no managed plane a second ago or earlier. */
	async capabilities(options?: Abortable): Promise<Capabilities> {
		return this.context.overlay(await this.context.link.held.current(options));
	}

	/** Asks the server now. A failed probe leaves what was configured, with `hello` telling of the failure. */
	async refreshCapabilities(options?: Abortable): Promise<Capabilities> {
		return this.context.overlay(await this.context.link.held.refresh(options));
	}

	override async waitUntilReady(timeoutMs: number, options?: Abortable): Promise<Capabilities> {
		return this.context.overlay(await this.context.link.held.waitUntilReady(timeoutMs, options));
	}

	override stream(name: string): PublishableStream {
		return new PublishableStream(this.context, name);
	}

	override topic(name: string): PublishableTopic {
		return new PublishableTopic(this.context, this.context.requireStream(), name);
	}

	/** How records become rows. */
	projections(): Projections {
		return new Projections(this.context);
	}

	/** How records are written. */
	schemas(): Schemas {
		return new Schemas(this.context);
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

	/** The change feed as the source of a `Consumer`: the collections that it watches are indexes. */
	feedSource(options?: { intervalMs?: number }): Source<RangeAdvanced> {
		return feedSource(this.context, options);
	}

	/** Any topic as the source of a `Consumer`: `map` says which row change a record stands for. */
	topicSource(topic: { stream: string; name: string }, options: TopicSourceOptions): Source<RowChange> {
		return topicSource(this.context, { stream: topic.stream, topic: topic.name }, options);
	}

	/** Which topic feeds which index. */
	bindings(): Bindings {
		return new Bindings(this.context);
	}
}
