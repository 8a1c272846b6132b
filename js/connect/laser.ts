/// <reference lib="esnext.disposable" preserve="true" />
import { StreamHandle, Topic } from '../topic/topic.js';
import { Watch } from '../watch/watch.js';
import type { Abortable } from './abort.js';
import type { CapabilityOverride } from './capabilities.js';
import type { LaserConnection } from './connection.js';
import { Context } from './context.js';
import { changesTopic, opsStream, type View } from './naming.js';
import { checkView, type ResourceNaming } from './options.js';

/**
 * A handle on a connection: a default stream and a way to name things. Handles that are made from one another share the
 * connection; closing any of them closes it.
 */
export class LaserHandle {
	/** @internal */
	protected readonly context: Context;

	/** @internal */
	constructor(context: Context) {
		this.context = context;
	}

	/** The connection that this handle shares: its state, its events, pausing and dialling anew. */
	get connection(): LaserConnection {
		return this.context.link.connection;
	}

	withDefaultStream(name: string): this {
		return this.#derive({ stream: name });
	}

	/** `"stream"` scopes managed names to the default stream, `"bare"` sends them as they are. */
	withResourceNaming(naming: ResourceNaming): this {
		return this.#derive({ naming });
	}

	/** Takes these capabilities for granted, whatever the server says. */
	withCapabilities(override: CapabilityOverride): this {
		return this.#make(new Context(this.context.link, this.context.view, override));
	}

	withChangesTopic(name: string): this {
		return this.#derive({ changesTopic: name });
	}

	withOpsStream(name: string): this {
		return this.#derive({ opsStream: name });
	}

	/** The default stream, if there is one. */
	get defaultStream(): string | undefined {
		return this.context.view.stream;
	}

	/** A managed name as it is sent. */
	resourceName(name: string): string {
		return this.context.resourceName(name);
	}

	/** The stream of the managed plane's own topics: set here, else announced, else the default. */
	get opsStream(): string {
		return opsStream(this.context.view, this.context.link.held.topology);
	}

	/** The topic of the change feed: set here, else announced, else the default. */
	get changesTopic(): string {
		return changesTopic(this.context.view, this.context.link.held.topology);
	}

	/**
	 * Waits until the managed plane and every enabled backend is ready.
	 *
	 * @throws {UnsupportedError} the server has no backends to wait for
	 * @throws {TimeoutError} not ready in time
	 */
	waitUntilReady(timeoutMs: number, options?: Abortable): Promise<unknown> {
		return this.context.link.held.waitUntilReady(timeoutMs, options);
	}

	/** A stream by its name. */
	stream(name: string): StreamHandle {
		return new StreamHandle(this.context, name);
	}

	/**
	 * A topic of the default stream.
	 *
	 * @throws {NoStreamError} there is none
	 */
	topic(name: string): Topic {
		return new Topic(this.context, this.context.requireStream(), name);
	}

	/** The change feed of the managed plane. */
	watch(): Watch {
		return new Watch(this.context);
	}

	/** Closes the connection, for every handle that shares it. Repeatable; later calls fail with ClosedError. */
	close(): Promise<void> {
		return this.context.driver.close();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	#derive(change: Partial<View>): this {
		const { link, view, override } = this.context;
		const changed = { ...view, ...change };
		checkView({ ...changed, resourceNaming: changed.naming });
		return this.#make(new Context(link, changed, override));
	}

	#make(context: Context): this {
		const Class = this.constructor as new (context: Context) => this;
		return new Class(context);
	}
}
