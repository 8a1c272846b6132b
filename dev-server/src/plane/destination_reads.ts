/** Reads of destinations (contract 13.3, 13.4). Query routes are not made here, so their list is empty. */
import type { DestinationRecord, Destinations } from './destinations.js';
import type { Readiness } from './hello.js';
import { isZero } from './query_request.js';
import { encodeCbor } from './wire/cbor.js';
import { Fields } from './wire/fields.js';
import { plainName } from './wire/names.js';
import { invalid, Refusal } from './wire/refusal.js';

const CONSISTENCIES = ['linearizable', 'potentially_stale'] as const;
type ReadConsistency = (typeof CONSISTENCIES)[number];

export class DestinationReads {
	constructor(
		private readonly destinations: Destinations,
		private readonly readiness: Readiness,
	) {}

	get(item: unknown): Uint8Array {
		return answer(() => {
			const fields = versioned(item);
			const id = fields.id('destination_id');
			if (isZero(id)) invalid('destination_identity', 'destination_id');
			const record = this.destinations.get(id);
			const consistency = fields.oneOf('consistency', CONSISTENCIES);
			return { Destination: record === undefined ? null : this.view(record, consistency) };
		});
	}

	list(item: unknown): Uint8Array {
		return answer(() => {
			const fields = versioned(item);
			const filter = Fields.of(
				fields.or('filter', {}, (f, k) => f.required(k)),
				'filter',
			);
			const text = (key: string) =>
				filter.optional(key, (f, k) => plainName(f.text(k), 'destination_name', f.at(k)));
			const stream = text('source_stream');
			const topic = text('source_topic');
			const part = text('name_contains');
			const { after, limit, consistency } = page(fields);
			const found = this.destinations
				.list()
				.filter(({ definition }) => stream === undefined || definition.source.stream === stream)
				.filter(({ definition }) => topic === undefined || definition.source.topic === topic)
				.filter(({ definition }) => part === undefined || definition.name.includes(part))
				.filter(({ definition }) => after === undefined || Buffer.compare(definition.id, after) > 0);
			const shown = found.slice(0, limit);
			return {
				Destinations: {
					destinations: shown.map((record) => this.view(record, consistency)),
					next_after: found.length > limit ? shown.at(-1)!.definition.id : undefined,
					global_state_revision: this.destinations.globalRevision,
					consistency,
				},
			};
		});
	}

	routes(item: unknown): Uint8Array {
		return answer(() => {
			const { consistency } = page(versioned(item));
			const global_state_revision = this.destinations.globalRevision;
			return { QueryRoutes: { routes: [], global_state_revision, consistency } };
		});
	}

	private view(record: DestinationRecord, consistency: ReadConsistency) {
		const { definition } = record;
		return {
			destination: definition,
			status: {
				destination_id: definition.id,
				destination_generation: definition.generation,
				backend: definition.backend,
				schema: definition.schema,
				projection: definition.projection,
				global_state_revision: record.global_state_revision,
				definition_revision: definition.definition_revision,
				checkpoint_revision: record.checkpoint_revision,
				desired_state: definition.desired_state,
				effective_state: this.readiness.ready ? 'ready' : 'waiting_for_backend',
				table_uuid: record.table_uuid,
				// Rows come through the server's own API, from no partition of the source.
				partitions: [],
				consistency,
			},
		};
	}
}

function answer(work: () => unknown): Uint8Array {
	try {
		return encodeCbor(work());
	} catch (error) {
		if (error instanceof VersionRefusal)
			return encodeCbor({ Err: { Version: { expected: 1n, got: error.got } } });
		if (error instanceof Refusal && error.kind === 'invalid')
			return encodeCbor({ Err: { Invalid: error.message } });
		throw error;
	}
}

class VersionRefusal extends Error {
	constructor(readonly got: bigint) {
		super('version');
	}
}

function versioned(item: unknown): Fields {
	const fields = Fields.of(item, '');
	const v = fields.u32('v');
	if (v !== 1n) throw new VersionRefusal(v);
	return fields;
}

function page(fields: Fields): {
	after: Uint8Array | undefined;
	limit: number;
	consistency: ReadConsistency;
} {
	const after = fields.optional('after', (f, k) => f.id(k));
	const limit = fields.u32('limit');
	if (limit < 1n || limit > 1000n) invalid('page_limit', 'limit');
	return { after, limit: Number(limit), consistency: fields.oneOf('consistency', CONSISTENCIES) };
}
