import { ManagedId } from '../connect/identity.js';
import { InvalidError } from '../errors/index.js';
import type {
	Projection,
	ProjectionBinding,
	ProjectionContentType,
	ProjectionField,
	RetentionPolicy,
	TopicSource,
} from './types.js';

/** Builds a projection that makes rows. Payloads are kept with the rows unless `indexOnly` is asked for. */
export class ProjectionBuilder {
	readonly #id: string;
	#name = '';
	#version = 1;
	#kind = 0;
	#contentType: ProjectionContentType = 'any';
	#fields: ProjectionField[] = [];
	#vectorField: string | undefined;
	#inlinePayload = true;

	constructor(id: string) {
		this.#id = id;
	}

	name(name: string): this {
		this.#name = name;
		return this;
	}

	version(version: number): this {
		this.#version = version;
		return this;
	}

	/** 0 makes rows, 1 a graph. */
	kind(kind: number): this {
		this.#kind = kind;
		return this;
	}

	contentType(contentType: ProjectionContentType): this {
		this.#contentType = contentType;
		return this;
	}

	/** A column. The pointer is `/name` unless given. */
	field(name: string, pointer = `/${escapePointer(name)}`, fieldType?: ProjectionField['fieldType']): this {
		this.#fields.push(fieldType === undefined ? { name, pointer } : { name, pointer, fieldType });
		return this;
	}

	fields(names: readonly string[]): this {
		for (const name of names) this.field(name);
		return this;
	}

	vectorField(pointer: string): this {
		this.#vectorField = pointer;
		return this;
	}

	/** Keeps no payloads. */
	indexOnly(): this {
		this.#inlinePayload = false;
		return this;
	}

	build(): Projection {
		return {
			id: this.#id,
			name: this.#name,
			version: this.#version,
			kind: this.#kind,
			contentType: this.#contentType,
			extraction: {
				fields: [...this.#fields],
				...(this.#vectorField === undefined ? {} : { vectorField: this.#vectorField }),
				inlinePayload: this.#inlinePayload,
			},
			inlinePayloadDefault: this.#inlinePayload,
		};
	}
}

function escapePointer(name: string): string {
	return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Builds a binding. The index is called like the topic unless named. */
export class ProjectionBindingBuilder {
	#source: TopicSource | undefined;
	readonly #allowed: string[] = [];
	#optional: Partial<Omit<ProjectionBinding, 'source' | 'allowedProjections' | 'index'>> = {};
	#index: string | undefined;

	source(stream: string, topic: string): this {
		this.#source = { stream, topic };
		return this;
	}

	/** Records may choose one of these projections. */
	allow(...projectionIds: readonly string[]): this {
		this.#allowed.push(...projectionIds);
		return this;
	}

	/** For records that choose none. */
	defaultProjection(projectionId: string): this {
		return this.#set({ defaultProjection: projectionId });
	}

	index(name: string): this {
		this.#index = name;
		return this;
	}

	/** Publishes a change record after each batch of rows. */
	notify(notify = true): this {
		return this.#set({ notify });
	}

	retention(policy: RetentionPolicy): this {
		return this.#set({ retention: policy });
	}

	/** Keeps the rows in this backend, instead of beside the server. */
	backend(resourceId: ManagedId | string, generation: bigint): this {
		const id = typeof resourceId === 'string' ? ManagedId.parse(resourceId) : resourceId;
		return this.#set({ backend: { resourceId: id, generation } });
	}

	/** Allows to skip records that are proven bad. */
	skipRejected(skip = true): this {
		return this.#set({ skipRejected: skip });
	}

	/** @throws {InvalidError} the source is missing */
	build(): ProjectionBinding {
		if (this.#source === undefined)
			throw new InvalidError('binding: the source is missing', { field: 'source' });
		return {
			source: this.#source,
			allowedProjections: [...this.#allowed],
			index: this.#index ?? this.#source.topic,
			...this.#optional,
		};
	}

	#set(change: Partial<ProjectionBinding>): this {
		this.#optional = { ...this.#optional, ...change };
		return this;
	}
}
