import { Decoder as CborXDecoder } from 'cbor-x/decode';
import { decode as cborgDecode } from 'cborg';
import { full } from '../../js/core/full.js';
import { type CoreModule, loadCore } from '../../js/core/load.js';
import { ownedPage, viewedPage } from '../../js/core/query.js';
import type { WasmSource } from '../../js/platform/wasm.js';
import { QueryResult } from '../../js/query/result.js';
import { handObjects } from '../../tests/hand-ts/objects.js';
import { decodeQueryReply } from '../../tests/hand-ts/query-reply.js';
import { Encoder, numbers } from './encode.js';
import { announce, interleaved, type Result, type Rounds, runtimeName, type Subject } from './measure.js';

const BENCH = 'query-reply';
const PAGES = 10;
const ROWS = 1_000;
const ID = Uint8Array.from({ length: 16 }, (_, index) => index + 1);

const SEED = 29;

const COLUMNS = [
	['id', { kind: 'long' }],
	['items', { kind: 'int' }],
	['total', { kind: 'double' }],
	['express', { kind: 'boolean' }],
	['city', { kind: 'string' }],
	['customer', { kind: 'string' }],
	['placed_at', { kind: 'timestamp_micros' }],
	['reference', { kind: 'uuid' }],
	['price', { kind: 'decimal', precision: 18, scale: 4 }],
	['day', { kind: 'date' }],
] as const;

type Column = (typeof COLUMNS)[number];

const CITIES = Array.from(
	{ length: 40 },
	(_, index) => `city of ${'abcdefghij'.slice(0, 1 + (index % 10))} ${index}`,
);
const NAMES = [
	'Łukasz Żółć',
	'Jürgen Größe',
	'Zoë Ångström',
	'李小龙',
	'Ελένη Παππά',
	'Søren Kjær',
	'José Núñez',
	'佐藤 花子 🙂',
];
/** One in ten of these is null. */
const NULLABLE = new Set<string>(['customer', 'price']);

/** Ten pages of 1,000 rows by 10 columns. */
export function queryPages(): Uint8Array[] {
	const random = numbers(SEED);
	return Array.from({ length: PAGES }, () => page(random));
}

function page(random: (below: number) => number): Uint8Array {
	const out = new Encoder();
	out.head(5, 1).text('Ok').head(5, 4);
	out.text('fields').head(4, COLUMNS.length);
	COLUMNS.forEach(([name, type], index) => {
		out
			.head(5, 4)
			.text('id')
			.integer(index + 1);
		out.text('name').text(name);
		out.text('required').boolean(!NULLABLE.has(name));
		const parts = Object.entries(type);
		out.text('field_type').head(5, parts.length);
		for (const [key, part] of parts) {
			out.text(key);
			if (typeof part === 'string') out.text(part);
			else out.integer(part);
		}
	});
	out.text('rows').head(4, ROWS);
	for (let row = 0; row < ROWS; row++) {
		out.head(5, 1).text('values').head(4, COLUMNS.length);
		for (const column of COLUMNS) {
			const [name, { kind }] = column;
			if (NULLABLE.has(name) && random(10) === 0) out.head(5, 1).text('kind').text('null');
			else value(out.head(5, 2).text('kind').text(kind).text('value'), column, random);
		}
	}
	out.text('page').head(5, 2).text('limit').integer(ROWS).text('has_more').boolean(false);
	out.text('context').head(5, 10).text('execution_id').bytes(ID);
	out.text('engine').head(5, 2).text('name').text('duckdb').text('version').text('1.0');
	out.text('resolved_target').head(5, 5).text('kind').text('operational').text('index').text('orders_v1');
	out.text('backend_resource_id').bytes(ID).text('backend_generation').integer(1);
	out.text('runtime_configuration_revision').integer(1);
	out.text('requested_consistency').text('eventual').text('delivered_consistency').text('eventual');
	out.text('truncated').boolean(false);
	for (const key of ['elapsed_micros', 'scanned_bytes', 'produced_bytes']) out.text(key).integer(1);
	out.text('row_count').integer(ROWS);
	return out.finish();
}

function value(out: Encoder, [name, type]: Column, random: (below: number) => number): void {
	switch (type.kind) {
		case 'long':
			out.integer(7_000_000_000 + random(1_000_000_000));
			break;
		case 'string':
			if (name === 'city') out.text(CITIES[random(CITIES.length)]!);
			else out.text(`${NAMES[random(NAMES.length)]} ${random(1_000)}`);
			break;
		case 'double':
			out.double(random(1_000_000) / 128);
			break;
		case 'int':
			out.integer(random(100_000) - 50_000);
			break;
		case 'boolean':
			out.boolean(random(2) === 1);
			break;
		case 'date':
			out.integer(19_000 + random(1_000));
			break;
		case 'timestamp_micros':
			out.integer(1_717_171_717_000_000n + BigInt(random(1_000_000_000)));
			break;
		case 'decimal':
			out
				.head(5, 3)
				.text('unscaled')
				.bytes(minimal(random(100_000_000) - 20_000_000));
			out.text('precision').integer(type.precision).text('scale').integer(type.scale);
			break;
		case 'uuid':
			out.bytes(Uint8Array.from({ length: 16 }, () => random(256)));
	}
}

/** Two's complement, big-endian, in the fewest bytes. */
function minimal(number: number): Uint8Array {
	const bytes = [number >> 24, number >> 16, number >> 8, number].map((part) => part & 255);
	while (bytes.length > 1 && bytes[0] === (bytes[1]! < 128 ? 0 : 255)) bytes.shift();
	return Uint8Array.from(bytes);
}

class WasmPages {
	readonly #module: CoreModule;
	readonly #native: InstanceType<NonNullable<CoreModule['glue']['PageDecoder']>>;

	constructor(module: CoreModule) {
		if (module.glue.PageDecoder === undefined) throw new Error('this module has no queries');
		this.#module = module;
		this.#native = new module.glue.PageDecoder();
	}

	columns(bytes: Uint8Array) {
		this.#decode(bytes);
		return ownedPage(this.#module.memory, this.#native.descriptor()).page;
	}

	/** Columns that live until the next page. */
	views(bytes: Uint8Array) {
		this.#decode(bytes);
		return viewedPage(this.#module.memory, this.#native.descriptor()).page;
	}

	#decode(bytes: Uint8Array): void {
		this.#module.memory.write(this.#native.input(bytes.length), bytes);
		if (this.#native.decode(bytes.length) === 0) throw new Error('the page was refused');
	}

	dispose(): void {
		this.#native.delete();
	}
}

/**
 * Decoding of ten pages to columns that the caller owns, to views of columns, and to row objects. `wasm` is what `loadCore`
 * takes; `native` has a turn of the same source without wasm.
 */
export async function run(
	options: {
		wasm?: WasmSource;
		rounds?: Partial<Rounds>;
		native?: ((least: number) => Promise<number>) | undefined;
	} = {},
): Promise<Result[]> {
	const pages = queryPages();
	await announce(BENCH, SEED, pages);
	const wasm = new WasmPages(await loadCore(full, options.wasm));
	const cborX = new CborXDecoder({ useRecords: false, mapsAsObjects: true });
	const all =
		<T>(decode: (bytes: Uint8Array) => T) =>
		() =>
			pages.map(decode);
	const { native } = options;
	const columns: Subject[] = [
		{ name: 'tidemark', run: all((bytes) => wasm.columns(bytes)) },
		{ name: 'views', run: all((bytes) => wasm.views(bytes).rows) },
		{ name: 'hand-ts', run: all((bytes) => decodeQueryReply(bytes)!) },
		{ name: 'cbor-x', run: all((bytes) => cborX.decode(bytes)) },
		{ name: 'cborg', run: all((bytes) => cborgDecode(bytes)) },
		...(native === undefined ? [] : [{ name: 'native', elsewhere: native }]),
	];
	const rows: Subject[] = [
		{ name: 'tidemark', run: all((bytes) => new QueryResult(wasm.columns(bytes)).objects()) },
		{ name: 'hand-ts', run: all((bytes) => handObjects(decodeQueryReply(bytes)!)) },
		{ name: 'cbor-x', run: all((bytes) => plainRows(cborX.decode(bytes))) },
		{ name: 'cborg', run: all((bytes) => plainRows(cborgDecode(bytes))) },
	];
	const rounds = { warm: 3, timed: 11, ...options.rounds };
	const toColumns = await interleaved(columns, rounds);
	const toRows = await interleaved(rows, rounds);
	wasm.dispose();
	const byViews = new Map(toColumns).set('tidemark', toColumns.get('views')!);
	byViews.delete('native');
	for (const timings of [toColumns, byViews]) timings.delete('views');
	const metrics = { columns_ms: toColumns, columns_view_ms: byViews, rows_ms: toRows };
	return Object.entries(metrics).flatMap(([metric, timings]) =>
		Array.from(timings, ([subject, timing]) => ({
			bench: BENCH,
			runtime: runtimeName(),
			subject,
			metric,
			unit: 'ms',
			...timing,
		})),
	);
}

interface DecodedReply {
	Ok: { fields: { name: string }[]; rows: { values: { value?: unknown }[] }[] };
}

/** What an application would do with a generally decoded reply; no rule is checked. */
function plainRows({ Ok: { fields, rows } }: DecodedReply): Record<string, unknown>[] {
	return rows.map(({ values }) => {
		const object: Record<string, unknown> = {};
		for (let index = 0; index < fields.length; index++)
			object[fields[index]!.name] = values[index]!.value ?? null;
		return object;
	});
}
