import type { Dialect } from '../core/contract.js';
import { ConfigError } from '../errors/index.js';
import type { WasmSource } from '../platform/wasm.js';
import type { CapabilityOverride } from './capabilities.js';
import type { ConnectOptions, ResourceNaming, TokenCallback } from './options.js';

/** Collects what `connect` needs. Everything is checked there. */
export class LaserBuilder<L> {
	readonly #connect: (url: string | URL, options: ConnectOptions) => Promise<L>;
	#url: string | URL | undefined;
	#options: ConnectOptions = {};

	/** @internal */
	constructor(connect: (url: string | URL, options: ConnectOptions) => Promise<L>) {
		this.#connect = connect;
	}

	address(url: string | URL): this {
		this.#url = url;
		return this;
	}

	credentials(username: string, password: string): this {
		return this.#set({ username, password });
	}

	token(token: string | TokenCallback): this {
		return this.#set({ token });
	}

	defaultStream(name: string): this {
		return this.#set({ stream: name });
	}

	/** Whose data is stored on this machine. */
	scope(scope: string): this {
		return this.#set({ scope });
	}

	allowInsecure(): this {
		return this.#set({ allowInsecure: true });
	}

	capabilities(capabilities: CapabilityOverride): this {
		return this.#set({ capabilities });
	}

	connectTimeout(ms: number): this {
		return this.#set({ connectTimeoutMs: ms });
	}

	requestTimeout(ms: number): this {
		return this.#set({ requestTimeoutMs: ms });
	}

	publishTimeout(ms: number): this {
		return this.#set({ publishTimeoutMs: ms });
	}

	publishMaxRetries(retries: number): this {
		return this.#set({ publishMaxRetries: retries });
	}

	publishRetryBackoff(ms: number): this {
		return this.#set({ publishRetryBackoffMs: ms });
	}

	opsStream(name: string): this {
		return this.#set({ opsStream: name });
	}

	controlTopic(name: string): this {
		return this.#set({ controlTopic: name });
	}

	deadLetterTopic(name: string): this {
		return this.#set({ deadLetterTopic: name });
	}

	changesTopic(name: string): this {
		return this.#set({ changesTopic: name });
	}

	resourceNaming(naming: ResourceNaming): this {
		return this.#set({ resourceNaming: naming });
	}

	dialects(...dialects: readonly Dialect[]): this {
		return this.#set({ dialects });
	}

	wasm(source: WasmSource | PromiseLike<WasmSource>): this {
		return this.#set({ wasm: source });
	}

	signal(signal: AbortSignal): this {
		return this.#set({ signal });
	}

	/** @throws {ConfigError} the address is missing, and whatever `connect` throws */
	async connect(): Promise<L> {
		if (this.#url === undefined) throw new ConfigError('address: missing');
		return this.#connect(this.#url, this.#options);
	}

	#set(options: ConnectOptions): this {
		this.#options = { ...this.#options, ...options };
		return this;
	}
}
