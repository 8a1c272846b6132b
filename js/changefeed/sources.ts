import { requireCapability } from '../connect/capabilities.js';
import type { Context } from '../connect/context.js';
import type { ChangeColumns, RecordColumns } from '../core/contract.js';
import { TopicRecord } from '../topic/record.js';
import { namespaceOf, WatchedNames } from './change.js';
import { LogStream } from './log-source.js';
import type { Namespace, RangeAdvanced, RowChange, Source } from './types.js';

/** A change as an application's mapper makes it: what is left out is filled in. */
export interface MappedChange {
	readonly namespace: Namespace;
	readonly op: RowChange['op'];
	readonly key: unknown;
	readonly before?: unknown;
	readonly after?: unknown;
	readonly fields?: readonly string[];
	readonly version?: number | bigint;
	readonly system?: boolean;
	/** By default when the record was appended. */
	readonly atMicros?: bigint;
	readonly increment?: number;
}

export interface TopicSourceOptions {
	/** What a record stands for; `undefined` when for no change. */
	map(record: TopicRecord): MappedChange | undefined;
	/** A record that `map` threw on. It is left out and counted. */
	onMisfit?(record: TopicRecord, error: unknown): void;
	/** Pause between polls of a topic that is caught up, ms. */
	intervalMs?: number;
}

/** Any topic as a source of row changes. */
export function topicSource(
	context: Context,
	place: { stream: string; topic: string },
	options: TopicSourceOptions,
): Source<RowChange> {
	return {
		open(watched, from, signal) {
			const names = new WatchedNames(watched);
			let misfits = 0;
			const map = (columns: RecordColumns, entry: number): RowChange | undefined => {
				const record = new TopicRecord(columns, entry, undefined);
				let mapped: MappedChange | undefined;
				try {
					mapped = options.map(record);
				} catch (error) {
					misfits += 1;
					try {
						options.onMisfit?.(record, error);
					} catch {
						// Whoever is told about a bad record cannot stop the good ones.
					}
					return undefined;
				}
				if (mapped === undefined) return undefined;
				const kind = names.get(mapped.namespace);
				if (kind === undefined) return undefined;
				return rowChange(mapped, record, kind === 'system' || mapped.system === true);
			};
			return LogStream.open<RowChange>(
				{
					context,
					place,
					content: 'records',
					from,
					map: (columns, entry) => map(columns as RecordColumns, entry),
					skipped: () => misfits,
					intervalMs: options.intervalMs,
				},
				signal,
			);
		},
	};
}

/** Values of a system collection are left behind here, where they are read. */
function rowChange(mapped: MappedChange, record: TopicRecord, system: boolean): RowChange {
	const { namespace, op, key, fields = [], version = 0, increment = 0 } = mapped;
	return {
		...{ kind: 'row', namespace, system, op, key, fields, increment },
		atMicros: mapped.atMicros ?? record.timestampMicros,
		version: system ? 0 : version,
		...(system || mapped.before === undefined ? {} : { before: mapped.before }),
		...(system || mapped.after === undefined ? {} : { after: mapped.after }),
		replace: op === 'replace',
		complete: false,
	};
}

/** The change feed of the managed plane as a source; its collections are indexes. */
export function feedSource(context: Context, options: { intervalMs?: number } = {}): Source<RangeAdvanced> {
	return {
		async open(watched, from, signal) {
			requireCapability(context.capabilities.watch, 'watch', 'changefeed');
			const indexes = new Set(
				[...watched.collections, ...watched.system].map((name) =>
					context.resourceName(namespaceOf(name).collection),
				),
			);
			const [only] = indexes;
			return LogStream.open<RangeAdvanced>(
				{
					context,
					place: {
						...context.feedTopic,
						...(indexes.size === 1 && only !== undefined ? { index: only } : {}),
					},
					content: 'changes',
					from,
					map: (columns, entry) => range(columns as ChangeColumns, entry, indexes),
					skipped: () => 0,
					intervalMs: options.intervalMs,
				},
				signal,
			);
		},
	};
}

const NO_STREAM = 0xffffffff;

function range(
	columns: ChangeColumns,
	entry: number,
	indexes: ReadonlySet<string>,
): RangeAdvanced | undefined {
	const index = columns.names[columns.index[entry]!]!;
	if (!indexes.has(index)) return undefined;
	const streamId = columns.stream[entry]!;
	const stream = streamId === NO_STREAM ? undefined : columns.names[streamId];
	return {
		kind: 'range',
		op: 'advance',
		namespace: { collection: index },
		system: false,
		index,
		stream,
		partition: columns.partitionId[entry]!,
		from: columns.fromOffset[entry]!,
		to: columns.toOffset[entry]!,
		rows: columns.rows[entry]!,
		atMicros: columns.timestampMicros[entry]!,
		increment: 0,
	};
}
