import type { ManagedId } from '../connect/identity.js';

export type ProjectionContentType =
	| 'any'
	| 'raw'
	| 'json'
	| 'avro'
	| 'protobuf'
	| 'msgpack'
	| 'cbor'
	| 'bson'
	| 'arrow'
	| 'ref';

export interface ProjectionField {
	readonly name: string;
	/** JSON pointer into the record. */
	readonly pointer: string;
	readonly fieldType?: 'text' | 'int' | 'float' | 'bool';
}

/** How a record becomes a row. */
export interface Projection {
	readonly id: string;
	readonly name: string;
	readonly version: number;
	/** 0 makes rows, 1 a graph. */
	readonly kind: number;
	readonly contentType: ProjectionContentType;
	readonly extraction: {
		readonly fields: readonly ProjectionField[];
		readonly vectorField?: string;
		readonly inlinePayload: boolean;
	};
	readonly inlinePayloadDefault: boolean;
}

export interface TopicSource {
	readonly stream: string;
	readonly topic: string;
}

/** How long rows are kept. `unknown` is a policy newer than this client: it must not be applied again. */
export type RetentionPolicy =
	| { readonly kind: 'mirror_log' | 'keep' | 'keep_until_source_deleted' | 'unknown' }
	| { readonly kind: 'time_to_live'; readonly ttlMicros: bigint }
	| { readonly kind: 'max_rows'; readonly rows: bigint };

/** Ties a topic to projections and to the index that their rows go to. */
export interface ProjectionBinding {
	readonly source: TopicSource;
	readonly allowedProjections: readonly string[];
	readonly defaultProjection?: string;
	readonly index: string;
	/** Only true opts into the change feed. */
	readonly notify?: boolean;
	/** Absent: what the deployment does by default. */
	readonly retention?: RetentionPolicy;
	/** Absent: the store beside the server. */
	readonly backend?: { readonly resourceId: ManagedId; readonly generation: bigint };
	readonly skipRejected?: boolean;
}

export interface ProjectionInfo {
	readonly projection: Projection;
	readonly bindings: readonly ProjectionBinding[];
}
