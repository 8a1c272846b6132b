import { Reader, Refused } from './cbor.js';
import { checkResultFields, type Field, hasControl, isName, readFields, readMap } from './schema.js';
import { TypedColumn } from './typed-column.js';
import { checkAgainst, readValue } from './typed-value.js';

export interface HandPage {
	fields: Field[];
	columns: TypedColumn[];
	scores: (number | undefined)[];
	rows: number;
	page: { offset?: bigint; limit: number; total?: bigint; hasMore: boolean; nextCursor?: string };
	executionId: Uint8Array;
}

const LEVELS = ['eventual', 'read_your_writes', 'strong'];
const DIALECTS = ['data_fusion', 'postgres', 'my_sql', 'sqlite'];
const RELATIONS = ['current', 'historical', 'ahead_of_observed_checkpoint'];
const ERRORS = new Set(
	'Unsupported Unauthorized IndexNotFound ForkNotFound Backend Unavailable TooLarge Version Stale Cancelled DeadlineExceeded ExpiredSnapshot StaleGeneration TargetUnavailable ResourceLimit'.split(
		' ',
	),
);

function refuse(rule: string, category: 'invalid' | 'protocol' = 'invalid'): never {
	throw new Refused(rule, 0, category);
}

/** Reads a reply into columns; `undefined` for a server's refusal. Throws Refused for anything that breaks a rule. */
export function decodeQueryReply(bytes: Uint8Array, executionId?: Uint8Array): HandPage | undefined {
	const reader = new Reader(bytes);
	if (bytes.length > 0) {
		const major = bytes[0]! >>> 5;
		if (major === 4) reader.fail('enum_shape');
		if (major === 3) {
			const name = reader.text();
			reader.fail(name === 'Ok' || name === 'Err' ? 'enum_shape' : 'unknown_variant', 0);
		}
	}
	const left = reader.map();
	if (!reader.more(left)) reader.fail('enum_shape', 0);
	const at = reader.at;
	const name = reader.text();
	let page: HandPage | undefined;
	let finish: (() => void) | undefined;
	if (name === 'Ok') [page, finish] = readResult(reader, executionId);
	else if (name === 'Err') readError(reader);
	else reader.fail('unknown_variant', at);
	if (reader.more(left - 1)) reader.fail('enum_shape', 0);
	reader.expectEnd();
	finish?.();
	return page;
}

function readError(reader: Reader): void {
	const left = reader.map();
	if (!reader.more(left)) reader.fail('enum_shape');
	const at = reader.at;
	if (!ERRORS.has(reader.text())) reader.fail('unknown_variant', at);
	reader.skip();
	if (reader.more(left - 1)) reader.fail('enum_shape');
}

function readResult(reader: Reader, executionId: Uint8Array | undefined): [HandPage, () => void] {
	let columns: TypedColumn[] | undefined;
	let waiting = -1;
	let rows: RowReader | undefined;
	const page: HandPage = {
		fields: [],
		columns: [],
		scores: [],
		rows: 0,
		page: { offset: 0n, limit: 50, hasMore: false },
		executionId: new Uint8Array(),
	};
	const readRows = () => {
		rows = new RowReader(reader, columns!);
		rows.read();
	};
	let context: (() => void) | undefined;
	readMap(
		reader,
		{
			fields: () => {
				page.fields = readFields(reader);
				checkResultFields(page.fields);
				columns = page.fields.map((field) => new TypedColumn(field));
			},
			rows: () => {
				if (columns !== undefined) return readRows();
				waiting = reader.at;
				reader.skip();
			},
			page: () => (page.page = readPage(reader)),
			context: () => {
				context = readContext(reader, page);
			},
		},
		['fields', 'rows', 'context'],
	);
	if (waiting >= 0) {
		const end = reader.at;
		reader.at = waiting;
		readRows();
		reader.at = end;
	}
	page.columns = columns!;
	page.rows = rows!.count;
	page.scores = rows!.scores;
	return [
		page,
		() => {
			context!();
			checkPage(page.page);
			if (executionId?.some((byte, index) => byte !== page.executionId[index]))
				refuse('execution_mismatch', 'protocol');
		},
	];
}

/** Rows into columns: the reference encoder's spelling by comparing bytes, every other in general. */
class RowReader {
	count = 0;
	scores: (number | undefined)[] = [];
	readonly #reader: Reader;
	readonly #columns: TypedColumn[];

	constructor(reader: Reader, columns: TypedColumn[]) {
		this.#reader = reader;
		this.#columns = columns;
	}

	read(): void {
		const reader = this.#reader;
		for (let left = reader.array(); reader.more(left); left--) {
			let score: number | undefined;
			if (!this.#plainRow())
				readMap(
					reader,
					{
						values: () => this.#values(),
						score: () => {
							if (reader.takeNull()) return;
							score = Math.fround(reader.float());
							if (!Number.isFinite(score)) refuse('score_not_finite');
						},
					},
					['values'],
				);
			this.scores.push(score);
			this.count++;
		}
	}

	/** Takes a row that has nothing but values, and as many as there are columns. */
	#plainRow(): boolean {
		const reader = this.#reader;
		const columns = this.#columns;
		const { view, bytes, at, end } = reader;
		const count = columns.length;
		if (end - at < 9 || view.getUint32(at) !== 0xa1667661 || view.getUint32(at + 4) !== 0x6c756573)
			return false;
		if (count > 23 || bytes[at + 8] !== 0x80 + count) return false;
		// The row's map and its array, in which a cell that is read in general finds itself.
		reader.depth += 2;
		let next = at + 9;
		for (let index = 0; index < count; index++) {
			const column = columns[index]!;
			const behind = column.take(bytes, view, next, end);
			if (behind >= 0) next = behind;
			else {
				reader.at = next;
				generalCell(reader, column);
				next = reader.at;
			}
		}
		reader.at = next;
		reader.depth -= 2;
		return true;
	}

	#values(): void {
		const reader = this.#reader;
		const columns = this.#columns;
		let index = 0;
		for (let left = reader.array(); reader.more(left); left--) {
			if (index === columns.length) refuse('row_width');
			const column = columns[index++]!;
			const behind = column.take(reader.bytes, reader.view, reader.at, reader.end);
			if (behind >= 0) reader.at = behind;
			else generalCell(reader, column);
		}
		if (index !== columns.length) refuse('row_width');
	}
}

function generalCell(reader: Reader, column: TypedColumn): void {
	const value = readValue(reader);
	checkAgainst(value, column.field);
	column.push(value);
}

const utf8 = new TextEncoder();

function readPage(reader: Reader): HandPage['page'] {
	const page: HandPage['page'] = { limit: 0, hasMore: false };
	const optional = (read: () => void) => () => {
		if (!reader.takeNull()) read();
	};
	readMap(
		reader,
		{
			offset: optional(() => (page.offset = reader.u64())),
			limit: () => (page.limit = reader.unsigned(0xffff_ffff)),
			total: optional(() => (page.total = reader.u64())),
			has_more: () => (page.hasMore = reader.boolean()),
			next_cursor: optional(() => (page.nextCursor = reader.text())),
		},
		['limit', 'has_more'],
	);
	return page;
}

function checkPage(page: HandPage['page']): void {
	if (page.limit < 1 || page.limit > 1000) refuse('page_limit');
	if (page.hasMore !== (page.nextCursor !== undefined)) refuse('page_cursor_agreement');
	const cursor = page.nextCursor;
	if (cursor === undefined) return;
	const size = utf8.encode(cursor).length;
	if (size < 1 || size > 512 || hasControl(cursor)) refuse('page_cursor');
}

function readId(reader: Reader): Uint8Array {
	const at = reader.at;
	const id = reader.byteString();
	if (id.length !== 16) reader.fail('id_length', at);
	return id;
}

function readName(reader: Reader, names: readonly string[]): string {
	const at = reader.at;
	const name = reader.text();
	if (!names.includes(name)) reader.fail('unknown_variant', at);
	return name;
}

const isZero = (bytes: Uint8Array) => bytes.every((byte) => byte === 0);

/** Reads the context and gives back the check of its rules, which comes once all is read. */
function readContext(reader: Reader, page: HandPage): () => void {
	const found: Record<string, unknown> = {};
	const take = (key: string, read: () => unknown) => () => {
		found[key] = read();
	};
	const optional = (key: string, read: () => unknown) => () => {
		if (!reader.takeNull()) found[key] = read();
	};
	const u64 = () => reader.u64();
	readMap(
		reader,
		{
			execution_id: () => (page.executionId = readId(reader)),
			engine: () =>
				readMap(
					reader,
					{
						name: take('engine', () => reader.text()),
						version: take('version', () => reader.text()),
						dialect: optional('dialect', () => readName(reader, DIALECTS)),
					},
					['name', 'version'],
				),
			resolved_target: () => {
				found.target = readTarget(reader);
			},
			requested_consistency: take('requested', () => readName(reader, LEVELS)),
			delivered_consistency: take('delivered', () => readName(reader, LEVELS)),
			boundary: optional('boundary', () => {
				let digest = new Uint8Array() as Uint8Array;
				readMap(
					reader,
					{
						digest: () => (digest = reader.byteString()),
						relation_to_current: () => readName(reader, RELATIONS),
					},
					['digest', 'relation_to_current'],
				);
				return digest;
			}),
			checkpoint_revision: optional('checkpoint', u64),
			global_state_revision: optional('global', u64),
			truncated: take('truncated', () => reader.boolean()),
			elapsed_micros: take('elapsed', u64),
			scanned_bytes: take('scanned', u64),
			produced_bytes: take('produced', u64),
			row_count: take('rowCount', u64),
			frontier: () => {
				for (let left = reader.array(); reader.more(left); left--)
					readMap(
						reader,
						{
							stream: () => reader.text(),
							topic: () => reader.text(),
							partition_id: () => reader.unsigned(0xffff_ffff),
							topic_created_at_micros: () => reader.takeNull() || reader.u64(),
							applied_offset: () => reader.u64(),
						},
						['stream', 'topic', 'partition_id', 'applied_offset'],
					);
			},
		},
		[
			...['execution_id', 'engine', 'resolved_target', 'requested_consistency', 'delivered_consistency'],
			...['truncated', 'elapsed_micros', 'scanned_bytes', 'produced_bytes', 'row_count'],
		],
	);
	return () => {
		if (isZero(page.executionId)) refuse('execution_id');
		if (found.rowCount !== BigInt(page.rows)) refuse('row_count');
		if (!isName(found.engine as string) || !isName(found.version as string)) refuse('engine_identity');
		if (LEVELS.indexOf(found.delivered as string) < LEVELS.indexOf(found.requested as string))
			refuse('consistency_downgrade');
		const target = found.target as Record<string, unknown>;
		const evidence = [found.boundary, found.checkpoint, found.global];
		if (!targetHolds(target)) refuse('target_evidence');
		const operational = target.kind === 'operational';
		if (evidence.some((part) => (part === undefined) !== operational)) refuse('target_evidence');
		if (!operational && (found.boundary as Uint8Array).length !== 32) refuse('digest_length');
	};
}

function readTarget(reader: Reader): Record<string, unknown> {
	const from = reader.at;
	let kind = '';
	let kindAt = from;
	readMap(
		reader,
		{
			kind: () => {
				kindAt = reader.at;
				kind = reader.text();
			},
		},
		['kind'],
	);
	const end = reader.at;
	const target: Record<string, unknown> = { kind };
	const reads: Record<string, () => unknown> = {
		index: () => reader.text(),
		destination_id: () => readId(reader),
		destination_generation: () => reader.u64(),
		backend_resource_id: () => readId(reader),
		backend_generation: () => reader.u64(),
		runtime_configuration_revision: () => reader.u64(),
		table_uuid: () => reader.byteString(),
		namespace: () => {
			const parts: string[] = [];
			for (let left = reader.array(); reader.more(left); left--) parts.push(reader.text());
			return parts;
		},
		table: () => reader.text(),
		snapshot_id: () => reader.signed64(),
		schema_id: () => reader.signed32(),
		partition_spec_id: () => reader.signed32(),
	};
	const keys: Record<string, string[]> = {
		operational: ['index', 'backend_resource_id', 'backend_generation', 'runtime_configuration_revision'],
		lakehouse: Object.keys(reads).slice(1),
	};
	const wanted = Object.hasOwn(keys, kind) ? keys[kind]! : reader.fail('unknown_variant', kindAt);
	reader.at = from;
	readMap(
		reader,
		Object.fromEntries(
			wanted.map((key) => [
				key,
				() => {
					target[key] = reads[key]!();
				},
			]),
		),
		wanted,
	);
	reader.at = end;
	return target;
}

function targetHolds(target: Record<string, unknown>): boolean {
	const operational = target.kind === 'operational';
	if (operational && !isName(target.index as string)) return false;
	if (!operational && (isZero(target.destination_id as Uint8Array) || target.destination_generation === 0n))
		return false;
	if (isZero(target.backend_resource_id as Uint8Array) || target.backend_generation === 0n) return false;
	if (target.runtime_configuration_revision === 0n) return false;
	if (operational) return true;
	const namespace = target.namespace as string[];
	return (
		(target.table_uuid as Uint8Array).length === 16 &&
		namespace.length > 0 &&
		namespace.every(isName) &&
		isName(target.table as string) &&
		(target.snapshot_id as bigint) > 0n &&
		(target.schema_id as number) >= 0 &&
		(target.partition_spec_id as number) >= 0
	);
}
