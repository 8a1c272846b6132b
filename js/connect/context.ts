import type { Doing } from '../errors/from-core.js';
import { NoStreamError } from '../errors/index.js';
import { type Abortable, signalOf } from './abort.js';
import { type Capabilities, type CapabilityOverride, withOverride } from './capabilities.js';
import type { LaserConnection } from './connection.js';
import type { Driver } from './driver.js';
import type { HeldCapabilities } from './held-capabilities.js';
import { feedTopic, resourceName, scopeOf, type View } from './naming.js';
import type { Settings } from './options.js';

/** What all handles of one connection share. */
export interface Link {
	readonly driver: Driver;
	readonly settings: Settings;
	readonly held: HeldCapabilities;
	readonly connection: LaserConnection;
	/** Work that cannot wait behind a query, over a connection of its own that ends with it. */
	beside<T>(work: (context: Context) => Promise<T>): Promise<T>;
	/** A connection for one follower alone; whoever asked for it closes it. */
	apart(): Promise<Context>;
}

export interface CallOptions {
	/** Named in errors. */
	surface: string;
	operation: string;
	timeoutMs?: number | undefined;
	/** The core's own capability check is left out: the caller has made it. */
	ungated?: boolean | undefined;
	/** Of creates: it is to exist afterwards, whoever made it. */
	ensure?: boolean | undefined;
	/** The result's names are a user's own: they stay as they are. */
	resultAsIs?: boolean;
	signal?: Abortable;
}

/** What every surface (topics, watch, query, projections …) is handed: one handle's view of one connection. */
export class Context {
	readonly link: Link;
	readonly view: View;
	readonly override: CapabilityOverride | undefined;

	constructor(link: Link, view: View, override: CapabilityOverride | undefined) {
		this.link = link;
		this.view = view;
		this.override = override;
	}

	get driver(): Driver {
		return this.link.driver;
	}

	/** The held set, under this handle's override. No I/O. */
	get capabilities(): Capabilities {
		return this.overlay(this.link.held.set);
	}

	overlay(set: Capabilities): Capabilities {
		return this.override === undefined ? set : withOverride(set, this.override);
	}

	resourceName(name: string): string {
		return resourceName(this.view, name);
	}

	/** The stream that managed names of this handle belong to, if it scopes them. */
	get scope(): string | undefined {
		return scopeOf(this.view);
	}

	get feedTopic(): { stream: string; topic: string } {
		return feedTopic(this.view, this.link.held.topology, this.capabilities);
	}

	/** @throws {NoStreamError} */
	requireStream(): string {
		if (this.view.stream === undefined) throw new NoStreamError('there is no default stream: name one');
		return this.view.stream;
	}

	/**
	 * One command, streaming (below 1,000,000) or managed. `args` and the result are the camelCase form of the command's
	 * body and reply.
	 */
	async call<T = unknown>(command: number, args: unknown, options: CallOptions): Promise<T> {
		const doing: Doing = { surface: options.surface, operation: options.operation };
		const ungated = options.ungated ?? (this.override === undefined ? undefined : true);
		return this.driver.run<T>(doing, signalOf(options.signal), (core, now) =>
			core.call(
				command,
				args,
				{
					...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
					...(ungated === undefined ? {} : { ungated }),
					...(options.ensure === undefined ? {} : { ensure: options.ensure }),
					...(options.resultAsIs ? { resultAsIs: true } : {}),
				},
				now,
			),
		);
	}
}
