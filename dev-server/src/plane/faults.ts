/** Faults that tests switch on: what the plane then does wrong, on purpose and for a stated number of times. */
import { encodeChange, type Feed } from './feed.js';
import type { QueryResult } from './query_reply.js';
import { encodeCbor } from './wire/cbor.js';

export const REPLY_FAULTS = [
	'row_width',
	'type_mismatch',
	'required_null',
	'execution_mismatch',
	'execution_id',
	'row_count',
	'page_cursor_agreement',
	'page_cursor',
	'page_limit',
	'target_evidence',
	'engine_identity',
	'consistency_downgrade',
	'fields_empty',
	'field_id_duplicate',
	'trailing_bytes',
	'truncated',
] as const;
export type ReplyFault = (typeof REPLY_FAULTS)[number];

export class Faults {
	pending = 0;
	backendUnavailable = 0;
	reply: { rule: ReplyFault; left: number } | undefined;

	clear(): void {
		this.pending = 0;
		this.backendUnavailable = 0;
		this.reply = undefined;
	}

	takePending(): boolean {
		if (this.pending <= 0) return false;
		this.pending -= 1;
		return true;
	}

	takeBackendUnavailable(): boolean {
		if (this.backendUnavailable <= 0) return false;
		this.backendUnavailable -= 1;
		return true;
	}

	takeReply(): ReplyFault | undefined {
		if (this.reply === undefined || this.reply.left <= 0) return undefined;
		this.reply.left -= 1;
		return this.reply.rule;
	}
}

/** The bytes of a reply that breaks exactly the named rule. */
export function breakReply(result: QueryResult, rule: ReplyFault): Uint8Array {
	const first = result.rows[0] ?? { values: result.fields.map(() => ({ kind: 'null' as const })) };
	const rest = result.rows.slice(1);
	const rows = (values: typeof first.values) => ({
		...result,
		rows: [{ ...first, values }, ...rest],
		context: { ...result.context, row_count: BigInt(rest.length + 1) },
	});
	const context = (change: object) => ({ ...result, context: { ...result.context, ...change } });
	const page = (change: object) => ({ ...result, page: { ...result.page, ...change } });
	const broken = (): unknown => {
		switch (rule) {
			case 'row_width':
				return rows([...first.values, { kind: 'null' }]);
			case 'type_mismatch':
				return rows([{ kind: 'date', value: 1n }, ...first.values.slice(1)]);
			case 'required_null': {
				const fields = [{ ...result.fields[0]!, required: true }, ...result.fields.slice(1)];
				return { ...rows([{ kind: 'null' }, ...first.values.slice(1)]), fields };
			}
			case 'execution_mismatch': {
				const id = Uint8Array.from(result.context.execution_id);
				id[15]! ^= 0xff;
				id[0]! |= 1;
				return context({ execution_id: id });
			}
			case 'execution_id':
				return context({ execution_id: new Uint8Array(16) });
			case 'row_count':
				return context({ row_count: result.context.row_count + 1n });
			case 'page_cursor_agreement':
				return result.page.has_more ? page({ next_cursor: undefined }) : page({ has_more: true });
			case 'page_cursor':
				return page({ has_more: true, next_cursor: 'line\nbreak' });
			case 'page_limit':
				return page({ limit: 1001n });
			case 'target_evidence':
				return context({ resolved_target: { ...result.context.resolved_target, backend_generation: 0n } });
			case 'engine_identity':
				return context({ engine: { name: '', version: '1' } });
			case 'consistency_downgrade':
				return context({ requested_consistency: 'strong', delivered_consistency: 'eventual' });
			case 'fields_empty':
				return { ...result, fields: [] };
			case 'field_id_duplicate':
				return {
					...rows([first.values[0]!, ...first.values]),
					fields: [result.fields[0]!, ...result.fields],
				};
			default:
				return result;
		}
	};
	const bytes = encodeCbor({ Ok: broken() });
	if (rule === 'trailing_bytes') return Uint8Array.from([...bytes, 0]);
	if (rule === 'truncated') return bytes.slice(0, bytes.length - 1);
	return bytes;
}

export const FEED_FAULTS = ['malformed', 'foreign_index', 'wrong_version'] as const;
export type FeedFault = (typeof FEED_FAULTS)[number];

/** Publishes broken or foreign change records where those of `index` go. */
export async function publishFeedFault(
	feed: Feed,
	kind: FeedFault,
	index: string,
	count: number,
): Promise<void> {
	const change = { partitionId: 0, fromOffset: 0n, toOffset: 0n, rows: 1, sourceStream: '' };
	const payload = (): Uint8Array => {
		switch (kind) {
			case 'malformed':
				return Uint8Array.from([0xa2, 0x61, 0x76, 0x01, 0x65]);
			case 'foreign_index':
				return encodeChange({ ...change, index: `${index}_other` }, false);
			case 'wrong_version':
				return encodeCbor({ v: 2n, index, partition_id: 0n, from_offset: 0n, to_offset: 0n, rows: 1n });
		}
	};
	await feed.append(index, Array.from({ length: count }, payload));
}
