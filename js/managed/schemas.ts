import type { Abortable } from '../connect/abort.js';
import type { Context } from '../connect/context.js';
import { browse, publishControl } from './control.js';

const GET_SCHEMA = 1_000_220;
const LIST_SCHEMAS = 1_000_221;
const REGISTER_SCHEMA = 1_000_222;
const DECODE_RECORD = 1_000_223;

/** How records are written. `unknown` is a source newer than this client. */
export type SchemaSource =
	| { readonly kind: 'avro' | 'json_schema'; readonly schema: string }
	| { readonly kind: 'protobuf'; readonly descriptorSet: Uint8Array; readonly messageType: string }
	| { readonly kind: 'unknown' };

export interface SchemaDefinition {
	readonly id: number;
	readonly source: SchemaSource;
	readonly name?: string;
	readonly version?: number;
}

export interface SchemaInfo {
	readonly schema: SchemaDefinition;
	/** Dropped ids stay: what was written under them can still be decoded. */
	readonly dropped: boolean;
}

/** Schemas of records, under ids that are given once and for ever. */
export class Schemas {
	readonly #context: Context;

	/** @internal */
	constructor(context: Context) {
		this.#context = context;
	}

	/** Name it, then `send`. */
	register(source: SchemaSource): SchemaRegistration {
		return new SchemaRegistration(this.#context, source);
	}

	async drop(id: number, options?: Abortable): Promise<void> {
		await publishControl(this.#context, 'drop schema', { DropSchema: id }, options);
	}

	async get(id: number, options?: Abortable): Promise<SchemaInfo | undefined> {
		const found = await this.#browse<SchemaInfo | null>(GET_SCHEMA, { id }, 'get schema', options);
		return found ?? undefined;
	}

	list(narrow: { nameContains?: string } = {}, options?: Abortable): Promise<readonly SchemaInfo[]> {
		return this.#browse(LIST_SCHEMAS, narrow, 'list schemas', options);
	}

	/**
	 * A record as the server decodes it by a schema, names as they were written; `undefined` when there is no such
	 * schema or the record does not follow it.
	 */
	async decode(id: number, payload: Uint8Array, options?: Abortable): Promise<unknown> {
		const found = await this.#browse<unknown>(DECODE_RECORD, { id, payload }, 'decode record', options, true);
		return found ?? undefined;
	}

	#browse<T>(
		command: number,
		args: object,
		operation: string,
		signal: Abortable,
		asIs?: boolean,
	): Promise<T> {
		return browse<T>(this.#context, command, { ...args, ...scoped(this.#context) }, operation, signal, asIs);
	}
}

export class SchemaRegistration {
	readonly #context: Context;
	readonly #source: SchemaSource;
	#name: string | undefined;
	#version: number | undefined;

	/** @internal */
	constructor(context: Context, source: SchemaSource) {
		this.#context = context;
		this.#source = source;
	}

	name(name: string): this {
		this.#name = name;
		return this;
	}

	version(version: number): this {
		this.#version = version;
		return this;
	}

	/**
	 * The new schema's id. Never repeated by itself: after an unknown outcome a second one might be registered.
	 *
	 * @throws {UnsupportedError} the server has no managed plane
	 * @throws {InvalidError} the schema breaks a rule
	 * @throws {QueryError} the server's own refusal
	 */
	send(options?: Abortable): Promise<number> {
		const named = {
			source: this.#source,
			...(this.#name === undefined ? {} : { name: this.#name }),
			...(this.#version === undefined ? {} : { version: this.#version }),
		};
		const args = { ...named, ...scoped(this.#context) };
		return browse<number>(this.#context, REGISTER_SCHEMA, args, 'register schema', options);
	}
}

function scoped({ scope }: Context): { stream?: string } {
	return scope === undefined ? {} : { stream: scope };
}
