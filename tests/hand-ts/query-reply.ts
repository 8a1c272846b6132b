import { half, Reader, Refused } from './cbor.js';
import { checkResultFields, type Field, hasControl, isName, readFields, readMap } from './schema.js';
import { checkAgainst, readValue, type Value } from './typed-value.js';

/** A column of plain values, null for null: numbers, bigints, text, bytes, and typed values for nested kinds. */
export interface HandColumn {
	field: Field;
	values: unknown[];
}

export interface HandPage {
	fields: Field[];
	columns: HandColumn[];
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

/** The page as plain objects. */
export function handObjects(page: HandPage): Record<string, unknown>[] {
	const template: Record<string, unknown> = {};
	for (const { field } of page.columns) define(template, field.name, null);
	const objects: Record<string, unknown>[] = new Array(page.rows);
	for (let row = 0; row < page.rows; row++) objects[row] = { ...template };
	for (const { field, values } of page.columns) {
		const { name } = field;
		if (name === '__proto__')
			for (let row = 0; row < page.rows; row++) define(objects[row]!, name, values[row]);
		else for (let row = 0; row < page.rows; row++) objects[row]![name] = values[row];
	}
	return objects;
}

function define(object: object, name: string, value: unknown): void {
	Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
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
	let columns: HandColumn[] | undefined;
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
				columns = page.fields.map((field) => ({ field, values: [] }));
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
	readonly #columns: HandColumn[];
	readonly #fast: (FastCell | undefined)[];

	constructor(reader: Reader, columns: HandColumn[]) {
		this.#reader = reader;
		this.#columns = columns;
		this.#fast = columns.map(({ field }) => fastCell(field));
	}

	read(): void {
		const reader = this.#reader;
		for (let left = reader.array(); reader.more(left); left--) {
			let score: number | undefined;
			if (this.#plainRow()) {
				reader.depth++;
				this.#values();
				reader.depth--;
				this.scores.push(undefined);
				this.count++;
				continue;
			}
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

	/** Takes the head of a row that has nothing but values. */
	#plainRow(): boolean {
		const { view, bytes, at, end } = this.#reader;
		if (end - at < 9 || view.getUint32(at) !== 0xa1667661 || view.getUint32(at + 4) !== 0x6c756573)
			return false;
		// Of arrays only, so that a refusal is placed as in general.
		if (bytes[at + 8]! >>> 5 !== 4) return false;
		this.#reader.at = at + 8;
		return true;
	}

	#values(): void {
		const reader = this.#reader;
		const columns = this.#columns;
		const fast = this.#fast;
		let index = 0;
		for (let left = reader.array(); reader.more(left); left--) {
			if (index === columns.length) refuse('row_width');
			const column = columns[index]!;
			const value = fast[index]?.(reader);
			column.values.push(value === undefined ? generalCell(reader, column.field) : value);
			index++;
		}
		if (index !== columns.length) refuse('row_width');
	}
}

function generalCell(reader: Reader, field: Field): unknown {
	const value = readValue(reader);
	checkAgainst(value, field);
	return plain(value);
}

function plain(value: Value): unknown {
	if (value.kind === 'null') return null;
	return value.value;
}

/** Takes a cell in its shortest spelling, or takes nothing and gives undefined. */
type FastCell = (reader: Reader) => unknown;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const utf8 = new TextEncoder();
const NULL_CELL = Uint8Array.of(0xa1, 0x64, 0x6b, 0x69, 0x6e, 0x64, 0x64, 0x6e, 0x75, 0x6c, 0x6c);
const MARGIN = 64;

function fastCell(field: Field): FastCell | undefined {
	const { kind, required } = field;
	const name = utf8.encode(kind);
	const prefix = Uint8Array.of(
		...[0xa2, 0x64, 0x6b, 0x69, 0x6e, 0x64, 0x60 + name.length],
		...name,
		...[0x65, 0x76, 0x61, 0x6c, 0x75, 0x65],
	);
	const words = new DataView(prefix.buffer);
	const whole = prefix.length >>> 2;
	const read = payload(field);
	if (read === undefined) return undefined;
	const last = prefix.length - 4;
	return (reader) => {
		const { view, at } = reader;
		if (reader.end - at < MARGIN) return undefined;
		let word = 0;
		while (word < whole && view.getUint32(at + word * 4) === words.getUint32(word * 4)) word++;
		if (word === whole && view.getUint32(at + last) === words.getUint32(last)) {
			reader.at = at + prefix.length;
			const value = read(reader);
			if (value === undefined) reader.at = at;
			return value;
		}
		if (required || !isNull(reader.bytes, at)) return undefined;
		reader.at = at + NULL_CELL.length;
		return null;
	};
}

function isNull(bytes: Uint8Array, at: number): boolean {
	for (let index = 0; index < NULL_CELL.length; index++)
		if (bytes[at + index] !== NULL_CELL[index]) return false;
	return true;
}

function payload(field: Field): FastCell | undefined {
	switch (field.kind) {
		case 'boolean':
			return (reader) => {
				const byte = reader.bytes[reader.at]!;
				if (byte !== 0xf4 && byte !== 0xf5) return undefined;
				reader.at++;
				return byte === 0xf5;
			};
		case 'int':
		case 'date':
			return (reader) => {
				const value = small(reader);
				return value === undefined || value < -(2 ** 31) || value >= 2 ** 31 ? undefined : value;
			};
		case 'long':
		case 'timestamp_micros':
		case 'timestamp_tz_micros':
			return long;
		case 'double':
			return float;
		case 'string':
			return (reader) => {
				const { bytes, at } = reader;
				const initial = bytes[at]!;
				let start = at + 1;
				let length: number;
				if (initial >= 0x60 && initial < 0x78) length = initial - 0x60;
				else if (initial === 0x78) {
					length = bytes[at + 1]!;
					start++;
				} else return undefined;
				if (start + length > reader.end) return undefined;
				// A short text that is ASCII costs less by hand than a call of the decoder.
				let text = '';
				let index = start;
				const end = start + length;
				if (length <= 16)
					for (; index < end && bytes[index]! < 0x80; index++) text += String.fromCharCode(bytes[index]!);
				if (index < end) {
					try {
						text = decoder.decode(bytes.subarray(start, end));
					} catch {
						return undefined;
					}
				}
				reader.at = end;
				return text;
			};
		case 'uuid':
			return (reader) => {
				const { at } = reader;
				if (reader.bytes[at] !== 0x50) return undefined;
				reader.at = at + 17;
				return reader.bytes.subarray(at + 1, at + 17);
			};
		case 'decimal':
			return decimal(field);
		default:
			return undefined;
	}
}

const UNSCALED = utf8.encode('\u0068unscaled');

/** Up to six bytes, which a number holds exactly. */
function decimal({ precision, scale }: Field): FastCell {
	const small = (value: number) => (value < 24 ? [value] : [0x18, value]);
	const tail = Uint8Array.of(
		...[0x69, ...utf8.encode('precision'), ...small(precision)],
		...[0x65, ...utf8.encode('scale'), ...small(scale)],
	);
	const limit = 10 ** precision;
	return (reader) => {
		const { bytes, at } = reader;
		if (bytes[at] !== 0xa3) return undefined;
		for (let index = 0; index < 9; index++) if (bytes[at + 1 + index] !== UNSCALED[index]) return undefined;
		const length = bytes[at + 10]! - 0x40;
		if (length < 1 || length > 6) return undefined;
		const start = at + 11;
		const end = start + length;
		if (end + tail.length > reader.end) return undefined;
		const top = bytes[start]!;
		if (length > 1 && (top === 0 || top === 0xff) && (top & 0x80) === (bytes[start + 1]! & 0x80))
			return undefined;
		let value = (top << 24) >> 24;
		for (let index = start + 1; index < end; index++) value = value * 256 + bytes[index]!;
		if (Math.abs(value) >= limit) return undefined;
		for (let index = 0; index < tail.length; index++)
			if (bytes[end + index] !== tail[index]) return undefined;
		reader.at = end + tail.length;
		return { unscaled: bytes.subarray(start, end), precision, scale };
	};
}

/** An integer of at most 32 bits of argument. */
function small(reader: Reader): number | undefined {
	const { bytes, view, at } = reader;
	const initial = bytes[at]!;
	if (initial >= 0x40) return undefined;
	const info = initial & 31;
	let argument: number;
	if (info < 24) {
		argument = info;
		reader.at = at + 1;
	} else if (info === 24) {
		argument = bytes[at + 1]!;
		reader.at = at + 2;
	} else if (info === 25) {
		argument = view.getUint16(at + 1);
		reader.at = at + 3;
	} else if (info === 26) {
		argument = view.getUint32(at + 1);
		reader.at = at + 5;
	} else return undefined;
	return initial < 0x20 ? argument : -1 - argument;
}

function long(reader: Reader): bigint | undefined {
	const initial = reader.bytes[reader.at]!;
	if ((initial & 0xdf) !== 0x1b) {
		const value = small(reader);
		return value === undefined ? undefined : BigInt(value);
	}
	const argument = reader.view.getBigInt64(reader.at + 1);
	if (argument < 0n) return undefined;
	reader.at += 9;
	return initial === 0x1b ? argument : -1n - argument;
}

function float(reader: Reader): number | undefined {
	const { bytes, view, at } = reader;
	const initial = bytes[at]!;
	let value: number;
	let size: number;
	if (initial === 0xfb) {
		value = view.getFloat64(at + 1);
		size = 9;
	} else if (initial === 0xfa) {
		value = view.getFloat32(at + 1);
		size = 5;
	} else if (initial === 0xf9) {
		value = half(view.getUint16(at + 1));
		size = 3;
	} else return undefined;
	if (!Number.isFinite(value) || Object.is(value, -0)) return undefined;
	reader.at = at + size;
	return value;
}

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
