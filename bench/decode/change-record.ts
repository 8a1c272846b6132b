import { Decoder as CborXDecoder } from 'cbor-x/decode';
import { decode as cborgDecode } from 'cborg';
import { ownedChanges, viewedChanges } from '../../js/core/columns.js';
import { full } from '../../js/core/full.js';
import { type CoreModule, loadCore } from '../../js/core/load.js';
import { changeRows } from '../../js/core/rows.js';
import { readTape } from '../../js/core/tape.js';
import type { WasmSource } from '../../js/platform/wasm.js';
import { decodeChangeRecords } from '../../tests/hand-ts/change-record.js';
import { Encoder, numbers } from './encode.js';
import { announce, interleaved, type Result, type Rounds, runtimeName } from './measure.js';

const BENCH = 'change-record';
const COUNT = 10_000;
const SEED = 11;

/** Payloads one behind the other; payload i is bytes[starts[i], starts[i + 1]). */
export interface Payloads {
	bytes: Uint8Array;
	starts: Uint32Array;
}

/** What a busy deployment's feed holds: a few indexes, several partitions, offsets of a long-lived topic. */
export function changePayloads(count = COUNT): Payloads {
	const random = numbers(SEED);
	const out = new Encoder();
	const starts = new Uint32Array(count + 1);
	const next = Array.from({ length: 12 }, (_, partition) => 4_000_000_000 + partition * 77_777_777);
	for (let i = 0; i < count; i++) {
		const partition = random(12);
		const rows = 1 + random(400);
		const from = next[partition]!;
		next[partition] = from + rows;
		out.head(5, 6).text('v').integer(1);
		out.text('index').text(`orders_by_region_v${1 + random(6)}`);
		out.text('partition_id').integer(partition);
		out.text('from_offset').integer(from);
		out.text('to_offset').integer(from + rows - 1);
		out.text('rows').integer(rows);
		starts[i + 1] = out.length;
	}
	return { bytes: out.finish(), starts };
}

/** Change records through the wasm core, as the client's readers decode them. */
class WasmChanges {
	readonly #module: CoreModule;
	readonly #native: InstanceType<CoreModule['glue']['ChangeDecoder']>;
	readonly #names: string[] = [];

	constructor(module: CoreModule) {
		this.#module = module;
		this.#native = new module.glue.ChangeDecoder();
	}

	objects({ bytes, starts }: Payloads) {
		const { memory } = this.#module;
		const native = this.#native;
		const head = starts.length * 4;
		const length = head + bytes.length;
		const address = native.input(length);
		memory.words().set(starts, address >>> 2);
		memory.write(address + head, bytes);
		native.decode(starts.length - 1, length);
		const descriptor = native.descriptor();
		const hasNewNames = memory.words()[(descriptor >>> 2) + 4]! > this.#names.length;
		const columns = (hasNewNames ? ownedChanges : viewedChanges)(memory, descriptor, this.#names);
		if (hasNewNames) this.#learn();
		return changeRows(columns);
	}

	dispose(): void {
		this.#native.delete();
	}

	#learn(): void {
		this.#native.names(this.#names.length);
		const words = this.#module.memory.words();
		const at = this.#native.descriptor() >>> 2;
		this.#names.push(...(readTape(this.#module.memory.bytes(), words[at]!, words[at + 1]!) as string[]));
	}
}

/** Decoding of 10,000 change records to objects. `wasm` is what `loadCore` takes. */
export async function run(options: { wasm?: WasmSource; rounds?: Partial<Rounds> } = {}): Promise<Result[]> {
	const payloads = changePayloads();
	const { bytes, starts } = payloads;
	await announce(BENCH, SEED, [bytes]);
	const wasm = new WasmChanges(await loadCore(full, options.wasm));
	const cborX = new CborXDecoder({ useRecords: false, mapsAsObjects: true });
	const each = (decode: (payload: Uint8Array) => unknown) => () => {
		const records = new Array(COUNT);
		for (let i = 0; i < COUNT; i++) records[i] = decode(bytes.subarray(starts[i], starts[i + 1]));
		return records;
	};
	const subjects = [
		{ name: 'tidemark', run: () => wasm.objects(payloads) },
		{ name: 'hand-ts', run: () => decodeChangeRecords(bytes, starts).records },
		{ name: 'cbor-x', run: each((payload) => cborX.decode(payload)) },
		{ name: 'cborg', run: each((payload) => cborgDecode(payload)) },
	];
	agree(subjects.map(({ name, run }) => ({ name, records: run() as Record<string, unknown>[] })));
	const medians = await interleaved(subjects, options.rounds);
	wasm.dispose();
	return Array.from(medians, ([subject, timing]) => ({
		bench: BENCH,
		runtime: runtimeName(),
		subject,
		metric: 'objects_ms',
		unit: 'ms',
		...timing,
	}));
}

const SNAKE: Record<string, string> = {
	partitionId: 'partition_id',
	fromOffset: 'from_offset',
	toOffset: 'to_offset',
};

/** A decoder that makes something else is no rival. */
function agree(made: { name: string; records: Record<string, unknown>[] }[]): void {
	const wanted = made[0]!.records;
	for (const { name, records } of made.slice(1)) {
		if (records.length !== wanted.length) throw new Error(`${name} made ${records.length} records`);
		records.forEach((record, i) => {
			for (const key of ['v', 'index', 'partitionId', 'fromOffset', 'toOffset', 'rows']) {
				const value = record[key] ?? record[SNAKE[key] ?? key];
				if (String(value) !== String(wanted[i]![key]))
					throw new Error(`${name}: record ${i} has another ${key}`);
			}
		});
	}
}
