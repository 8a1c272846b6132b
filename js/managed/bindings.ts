import type { Abortable } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { ManagedId } from '../connect/identity.js';
import { localName } from '../connect/naming.js';
import { InvalidError } from '../errors/index.js';
import { publishControl } from './control.js';
import type { ProjectionBinding, TopicSource } from './types.js';

/** As it crosses the border: identities are bytes, an absent default is null. */
export type WireBinding = Omit<ProjectionBinding, 'backend' | 'defaultProjection'> & {
	readonly defaultProjection?: string | null;
	readonly backend?: { readonly resourceId: Uint8Array; readonly generation: bigint };
};

/** Bindings: which topic feeds which index. Changes are accepted first and take effect later. */
export class Bindings {
	readonly #context: Context;

	/** @internal */
	constructor(context: Context) {
		this.#context = context;
	}

	async apply(binding: ProjectionBinding, options?: Abortable): Promise<void> {
		if (!Array.isArray(binding?.allowedProjections)) {
			throw new InvalidError('apply binding: the allowed projections are missing', {
				rule: 'argument',
				field: 'allowedProjections',
			});
		}
		const { backend, defaultProjection, ...rest } = binding;
		const scope = (name: string): string => this.#context.resourceName(name);
		const wire: WireBinding = {
			...rest,
			allowedProjections: binding.allowedProjections.map(scope),
			defaultProjection: defaultProjection === undefined ? null : scope(defaultProjection),
			index: scope(binding.index),
			...(backend === undefined
				? {}
				: { backend: { resourceId: backend.resourceId.toBytes(), generation: backend.generation } }),
		};
		await publishControl(this.#context, 'apply binding', { ApplyBinding: wire }, options);
	}

	/** Removes a topic's binding, or only what it has to do with one projection. */
	async remove(source: TopicSource, projectionRef?: string, options?: Abortable): Promise<void> {
		const ref = projectionRef === undefined ? null : this.#context.resourceName(projectionRef);
		await publishControl(
			this.#context,
			'remove binding',
			{ RemoveBinding: { source, projectionRef: ref } },
			options,
		);
	}
}

export function fromWireBinding(context: Context, wire: WireBinding): ProjectionBinding {
	const { backend, defaultProjection, ...rest } = wire;
	const local = (name: string): string => localName(context.view, name) ?? name;
	return {
		...rest,
		allowedProjections: wire.allowedProjections.map(local),
		index: local(wire.index),
		...(typeof defaultProjection === 'string' ? { defaultProjection: local(defaultProjection) } : {}),
		...(backend === undefined || backend === null
			? {}
			: {
					backend: {
						resourceId: ManagedId.fromBytes(backend.resourceId),
						generation: backend.generation,
					},
				}),
	};
}
