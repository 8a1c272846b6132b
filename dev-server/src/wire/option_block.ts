import { NEVER } from '../log/catalog_model.js';
import { BodyReader, BodyWriter } from './body.js';
import { Refusal, Status } from './codes.js';

/** Options of topics: their catalogue, and the header-block encoding that they travel in. */

export const Kind = { string: 2, bool: 3, u8: 9, u32: 11, u64: 12 } as const;

export interface OptionSpec {
	key: string;
	kind: number;
	default: string | bigint | boolean;
	description: string;
	/** Reads a value given as text. */
	parse: (text: string) => string | bigint | boolean;
	allowed: (value: string | bigint | boolean) => boolean;
	/** Values that one dialect also takes as a number (kind 9). */
	byNumber?: Readonly<Record<number, string>>;
	/** Can be changed and reset after creation. */
	updatable?: boolean;
}

type Value = OptionSpec['default'];

const MAX_ENTRIES = 1024;
const MAX_BLOCK = 100_000;

const invalid = (): Refusal => new Refusal(Status.invalidOption);

function units(table: Record<string, bigint>): (text: string) => bigint {
	return (text) => {
		const compact = text.trim().toLowerCase();
		if (/^\d+$/.test(compact)) return BigInt(compact);
		let sum = 0n;
		let rest = compact;
		while (rest !== '') {
			const part = /^(\d+)\s*([a-zµ]+)\s*/.exec(rest);
			const unit = table[part?.[2] ?? ''];
			if (!part || unit === undefined) throw invalid();
			sum += BigInt(part[1]!) * unit;
			rest = rest.slice(part[0].length);
		}
		if (compact === '' || sum > NEVER) throw invalid();
		return sum;
	};
}

function table(entries: [string[], bigint][]): Record<string, bigint> {
	const names: Record<string, bigint> = Object.create(null);
	for (const [aliases, value] of entries) for (const alias of aliases) names[alias] = value;
	return names;
}

const duration = units(
	table([
		[['us', 'usec', 'µs'], 1n],
		[['ms', 'msec', 'millis'], 1000n],
		[['s', 'sec', 'secs', 'second', 'seconds'], 1_000_000n],
		[['m', 'min', 'mins', 'minute', 'minutes'], 60_000_000n],
		[['h', 'hr', 'hrs', 'hour', 'hours'], 3_600_000_000n],
		[['d', 'day', 'days'], 86_400_000_000n],
		[['w', 'week', 'weeks'], 604_800_000_000n],
	]),
);

const size = units(
	table([
		[['b'], 1n],
		[['kb'], 1000n],
		[['mb'], 1_000_000n],
		[['gb'], 1_000_000_000n],
		[['kib'], 1n << 10n],
		[['mib'], 1n << 20n],
		[['gib'], 1n << 30n],
		[['tib'], 1n << 40n],
	]),
);

const special =
	(parse: (text: string) => bigint, words: string[]) =>
	(text: string): bigint =>
		words.includes(text.trim().toLowerCase()) ? NEVER : parse(text);

const bool = (text: string): boolean => {
	if (text === 'true' || text === 'false') return text === 'true';
	throw invalid();
};

const word = (key: string, words: string[], description: string): OptionSpec => ({
	key,
	kind: Kind.string,
	default: words[0]!,
	description,
	parse: (text) => text,
	allowed: (value) => words.includes(value as string),
});

const MIB = 1n << 20n;
const GIB = 1n << 30n;

const COMMON: OptionSpec[] = [
	word('compression_algorithm', ['none', 'gzip'], 'Stored setting; message bytes stay as they were sent'),
	{
		key: 'max_topic_size',
		kind: Kind.u64,
		default: NEVER,
		description: 'Bytes after which the oldest records go, or a size such as 1 GiB',
		parse: special(size, ['unlimited']),
		allowed: (value) => value === 0n || (value as bigint) >= MIB,
	},
	{
		key: 'message_expiry',
		kind: Kind.u64,
		default: NEVER,
		description: 'Microseconds after which a record goes, or a time such as 7 days',
		parse: special(duration, ['never', 'none']),
		allowed: () => true,
	},
	{
		key: 'messages_required_to_save',
		kind: Kind.u32,
		default: 1024n,
		description: 'Accepted and reported; every batch is stored before its reply',
		parse: units(table([])),
		allowed: (value) => (value as bigint) >= 1n && (value as bigint) <= 16_777_216n,
	},
	{
		key: 'preallocate_segments',
		kind: Kind.bool,
		default: false,
		description: 'Accepted and reported; segments grow as they are written',
		parse: bool,
		allowed: () => true,
	},
	{
		key: 'segment_size',
		kind: Kind.u64,
		default: GIB,
		description: 'Bytes of one segment, a multiple of 512 from 1 MiB to 1 GiB',
		parse: size,
		allowed: (value) =>
			(value as bigint) >= MIB && (value as bigint) <= GIB && (value as bigint) % 512n === 0n,
	},
	{
		key: 'size_of_messages_required_to_save',
		kind: Kind.u64,
		default: MIB,
		description: 'Accepted and reported; every batch is stored before its reply',
		parse: size,
		allowed: (value) => (value as bigint) <= GIB,
	},
];

const byKey = (one: OptionSpec, other: OptionSpec): number => (one.key < other.key ? -1 : 1);

export const STABLE_OPTIONS: OptionSpec[] = [
	...COMMON,
	word('consumer_offset_durability', ['replicated', 'persisted'], 'Durability of stored offsets'),
	word('durability', ['replicated', 'persisted'], 'Durability of records'),
].sort(byKey);

export const SNAPSHOT_OPTIONS: OptionSpec[] = [
	...COMMON,
	{
		key: 'enforce_fsync',
		kind: Kind.bool,
		default: false,
		description: 'Flush to the device before a reply',
		parse: bool,
		allowed: () => true,
	},
].sort(byKey);

const UPDATABLE = new Set(['compression_algorithm', 'message_expiry', 'max_topic_size']);

/** The newer protocol's catalogue. One node: a topic has one copy. */
export const NEWER_OPTIONS: OptionSpec[] = [
	...STABLE_OPTIONS.map(
		(spec): OptionSpec => ({
			...spec,
			updatable: UPDATABLE.has(spec.key),
			...(spec.key === 'compression_algorithm' ? { byNumber: { 1: 'none', 2: 'gzip' } } : {}),
		}),
	),
	word('partition_resize_policy', ['mutable', 'fixed'], 'Whether partitions can be added and removed'),
	{
		key: 'replication_factor',
		kind: Kind.u32,
		default: 1n,
		description: 'Copies of each partition; this server is one node',
		parse: units(table([])),
		allowed: (value: Value) => value === 1n,
	},
].sort(byKey);

export function encodeValue(spec: OptionSpec, value: Value): Buffer {
	if (spec.kind === Kind.string) return Buffer.from(value as string);
	if (spec.kind === Kind.bool) return Buffer.from([value === true ? 1 : 0]);
	const bytes = Buffer.alloc(spec.kind === Kind.u32 ? 4 : 8);
	if (spec.kind === Kind.u32) bytes.writeUInt32LE(Number(value));
	else bytes.writeBigUInt64LE(value as bigint);
	return bytes;
}

function decodeValue(spec: OptionSpec, kind: number, bytes: Buffer): Value {
	const text = (): string => new BodyReader(bytes).text(bytes.length);
	if (kind === Kind.string) return spec.kind === Kind.string ? text() : spec.parse(text());
	if (kind === Kind.u8 && bytes.length === 1 && spec.byNumber?.[bytes[0]!]) return spec.byNumber[bytes[0]!]!;
	if (kind !== spec.kind) throw invalid();
	if (kind === Kind.bool && bytes.length === 1 && bytes[0]! <= 1) return bytes[0] === 1;
	if (kind === Kind.u32 && bytes.length === 4) return BigInt(bytes.readUInt32LE());
	if (kind === Kind.u64 && bytes.length === 8) return bytes.readBigUInt64LE();
	throw invalid();
}

/** Reads an options block and checks every entry against the catalogue. */
export function readOptions(block: Buffer, catalogue: readonly OptionSpec[]): Map<string, Value> {
	if (block.length > MAX_BLOCK) throw new Refusal(Status.optionsTooLarge);
	const reader = new BodyReader(block);
	const values = new Map<string, Value>();
	const field = (): { kind: number; bytes: Buffer } => {
		const kind = reader.u8();
		const length = reader.u32();
		if (kind === 0 || length < 1 || length > 255) throw invalid();
		return { kind, bytes: reader.take(length) };
	};
	while (reader.left > 0) {
		const key = field();
		const value = field();
		if (key.kind !== Kind.string || values.size === MAX_ENTRIES) throw invalid();
		const name = new BodyReader(key.bytes).text(key.bytes.length);
		const spec = catalogue.find((one) => one.key === name);
		if (!spec) throw new Refusal(Status.unsupportedOption);
		if (values.has(name)) throw invalid();
		const read = decodeValue(spec, value.kind, value.bytes);
		if (!spec.allowed(read)) throw invalid();
		values.set(name, read);
	}
	return values;
}

/** Writes entries in ascending key order with the kinds of the catalogue. */
export function writeOptions(values: ReadonlyMap<string, Value>, catalogue: readonly OptionSpec[]): Buffer {
	const body = new BodyWriter();
	for (const spec of catalogue) {
		const value = values.get(spec.key);
		if (value === undefined) continue;
		const bytes = encodeValue(spec, value);
		body.u8(Kind.string).longText(spec.key).u8(spec.kind).block(bytes);
	}
	return body.done();
}

/** What the server filled in: the defaults of every key that the creator left out. */
export function derivedOptions(explicit: Buffer, catalogue: readonly OptionSpec[]): Buffer {
	const given = rawOptions(explicit);
	const defaults = new Map<string, Value>();
	for (const spec of catalogue) if (!given.has(spec.key)) defaults.set(spec.key, spec.default);
	return writeOptions(defaults, catalogue);
}

/** Entries of a stored block. It was checked when it came, maybe against another dialect's catalogue. */
export function rawOptions(block: Buffer): Map<string, Buffer> {
	const reader = new BodyReader(block);
	const entries = new Map<string, Buffer>();
	const field = (): Buffer => {
		reader.u8();
		return reader.take(reader.u32());
	};
	while (reader.left > 0) {
		const key = field().toString();
		entries.set(key, field());
	}
	return entries;
}
