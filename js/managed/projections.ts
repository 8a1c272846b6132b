import type { Abortable } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { localName } from '../connect/naming.js';
import { InvalidError } from '../errors/index.js';
import { fromWireBinding, type WireBinding } from './bindings.js';
import { browse, publishControl } from './control.js';
import type { Projection, ProjectionInfo } from './types.js';

const GET_PROJECTION = 1_000_210;
const LIST_PROJECTIONS = 1_000_211;
const ROW_KIND = 0;

interface WireProjectionInfo {
	projection: Projection;
	bindings?: WireBinding[];
}

/** Projections: how records become rows. Changes are accepted first and take effect later; `get` shows when. */
export class Projections {
	readonly #context: Context;

	/** @internal */
	constructor(context: Context) {
		this.#context = context;
	}

	/**
	 * Registers a projection, or a new version of one.
	 *
	 * @throws {InvalidError} it is a graph's, or breaks a rule
	 */
	async register(projection: Projection, options?: Abortable): Promise<void> {
		if (typeof projection?.kind !== 'number') {
			throw new InvalidError('register projection: not a projection', { rule: 'argument', field: 'kind' });
		}
		if (projection.kind !== ROW_KIND) {
			throw new InvalidError('register projection: a graph projection is registered as a graph', {
				rule: 'projection_id',
				field: 'kind',
			});
		}
		const scoped = { ...projection, id: this.#context.resourceName(projection.id) };
		await publishControl(this.#context, 'register projection', { RegisterProjection: scoped }, options);
	}

	async drop(id: string, options?: Abortable): Promise<void> {
		await publishControl(
			this.#context,
			'drop projection',
			{ DropProjection: this.#context.resourceName(id) },
			options,
		);
	}

	/** The projection with its bindings, or `undefined` when there is none (yet). */
	async get(id: string, options?: Abortable): Promise<ProjectionInfo | undefined> {
		const found = await browse<WireProjectionInfo | null>(
			this.#context,
			GET_PROJECTION,
			{ id: this.#context.resourceName(id) },
			'get projection',
			options,
		);
		return found === null ? undefined : infoOf(this.#context, found);
	}

	/** Narrow it down, then `fetch`. */
	list(): ProjectionListing {
		return new ProjectionListing(this.#context);
	}
}

/** A listing of the projections that this handle may name. */
export class ProjectionListing {
	readonly #context: Context;
	readonly #topics: string[] = [];
	#narrow: { nameContains?: string; idPrefix?: string; search?: string } = {};

	/** @internal */
	constructor(context: Context) {
		this.#context = context;
	}

	forTopic(topic: string): this {
		this.#topics.push(topic);
		return this;
	}

	forTopics(topics: readonly string[]): this {
		this.#topics.push(...topics);
		return this;
	}

	nameContains(text: string): this {
		this.#narrow.nameContains = text;
		return this;
	}

	idPrefix(prefix: string): this {
		this.#narrow.idPrefix = this.#context.resourceName(prefix);
		return this;
	}

	search(text: string): this {
		this.#narrow.search = text;
		return this;
	}

	async fetch(options?: Abortable): Promise<readonly ProjectionInfo[]> {
		const found = await browse<WireProjectionInfo[]>(
			this.#context,
			LIST_PROJECTIONS,
			{ ...this.#narrow, ...(this.#topics.length === 0 ? {} : { topics: this.#topics }) },
			'list projections',
			options,
		);
		return found.flatMap((one) => infoOf(this.#context, one) ?? []);
	}
}

/** As the handle's user knows it; `undefined` for what belongs to another stream. */
function infoOf(context: Context, wire: WireProjectionInfo): ProjectionInfo | undefined {
	const id = localName(context.view, wire.projection.id);
	if (id === undefined) return undefined;
	return {
		projection: { ...wire.projection, id },
		bindings: (wire.bindings ?? []).map((binding) => fromWireBinding(context, binding)),
	};
}
