/** From a stored record to the values of its row, by the projection that the record or its binding chooses. */
import type { StoredRecord } from '../contract.js';
import type { Binding, Projection } from './control_model.js';
import { compilePointer, type JsonValue } from './json_value.js';
import { decodeBody } from './record_body.js';
import { type ProjectionHeaders, readProjectionHeaders } from './record_headers.js';

export const MAX_INLINE_BYTES = 8_388_608;

export interface ExtractedRow {
	record: StoredRecord;
	projection: Projection;
	contentType: number | undefined;
	/** Values from the body, by field name; undefined where the body has none. */
	values: Map<string, JsonValue>;
	/** Explicit header scalars; they win. */
	explicit: Map<string, string> | undefined;
	inline: boolean;
}

export type Skip = 'no_projection' | 'projection_not_allowed' | 'no_indexed_field';

interface CompiledField {
	name: string;
	read: (document: JsonValue) => JsonValue | undefined;
}

export class Extractor {
	readonly #compiled = new WeakMap<Projection, CompiledField[]>();

	constructor(private readonly projections: ReadonlyMap<string, Projection>) {}

	extract(binding: Binding, record: StoredRecord): ExtractedRow | Skip {
		const headers = readProjectionHeaders(record.headers);
		const projection = this.choose(binding, headers);
		if (typeof projection === 'string') return projection;
		const document = decodeBody(record.payload, headers.contentType);
		const values = new Map<string, JsonValue>();
		if (document !== undefined) {
			for (const field of this.fields(projection)) {
				const value = field.read(document);
				if (value !== undefined && value !== null) values.set(field.name, value);
			}
		}
		if (values.size === 0 && headers.index === undefined) return 'no_indexed_field';
		const wanted =
			headers.inline || projection.inline_payload_default || projection.extraction.inline_payload;
		return {
			record,
			projection,
			contentType: headers.contentType,
			values,
			explicit: headers.index,
			inline: wanted && record.payload.length <= MAX_INLINE_BYTES,
		};
	}

	private choose(binding: Binding, headers: ProjectionHeaders): Projection | Skip {
		const ref = headers.projectionRef;
		if (
			ref !== undefined &&
			ref !== binding.default_projection &&
			!binding.allowed_projections.includes(ref)
		) {
			return 'projection_not_allowed';
		}
		const id = ref ?? binding.default_projection;
		return (id === null ? undefined : this.projections.get(id)) ?? 'no_projection';
	}

	private fields(projection: Projection): CompiledField[] {
		let fields = this.#compiled.get(projection);
		if (fields === undefined) {
			fields = projection.extraction.fields.map(({ name, pointer }) => ({
				name,
				read: compilePointer(pointer),
			}));
			this.#compiled.set(projection, fields);
		}
		return fields;
	}
}
