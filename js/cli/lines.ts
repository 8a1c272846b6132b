import type { TopicRecord } from '../topic/record.js';
import type { ChangeRecord } from '../watch/watch-reader.js';

export interface LineStyle {
	readonly json: boolean;
	readonly colours: boolean;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** C0, DEL and C1: what a terminal acts on. Whoever wrote a record has no say in the reader's terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

function harmless(text: string): string {
	return text.replace(CONTROL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoted(text: string): string {
	return harmless(JSON.stringify(text));
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function textOf(payload: Uint8Array): string | undefined {
	try {
		return decoder.decode(payload);
	} catch {
		return undefined;
	}
}

function timeOf(micros: bigint): string {
	const date = new Date(Number(micros / 1000n));
	return Number.isNaN(date.getTime()) ? String(micros) : date.toISOString();
}

function paint(style: LineStyle, code: number, text: string): string {
	return style.colours ? `\u001b[${code}m${text}\u001b[0m` : text;
}

const DIM = 2;
const CYAN = 36;

export function changeLine(change: ChangeRecord, style: LineStyle): string {
	const { index, partitionId, fromOffset, toOffset, rows, stream } = change;
	if (style.json) {
		// Offsets are numbers with all their digits: 64 bits do not pass JSON.stringify.
		const of = stream === undefined ? '' : `"stream":${quoted(stream)},`;
		return `{${of}"index":${quoted(index)},"partitionId":${partitionId},"fromOffset":${fromOffset},"toOffset":${toOffset},"rows":${rows}}`;
	}
	const name = harmless(stream === undefined ? index : `${stream}/${index}`);
	return `${paint(style, CYAN, name)} ${partitionId}:${fromOffset}..${toOffset} ${rows} row${rows === 1 ? '' : 's'}`;
}

export function recordLine(record: TopicRecord, style: LineStyle): string {
	const { partitionId, offset, timestampMicros, id, payload } = record;
	const text = textOf(payload);
	if (!style.json) {
		const place = paint(style, CYAN, `${partitionId}:${offset}`);
		const time = paint(style, DIM, timeOf(timestampMicros));
		return `${place} ${time} ${text === undefined ? `base64:${base64(payload)}` : harmless(text)}`;
	}
	const headers = [...record.headers].map(([name, value]) => `${quoted(name)}:${headerValue(value)}`);
	const content = text === undefined ? `"base64":"${base64(payload)}"` : `"text":${quoted(text)}`;
	return `{"partitionId":${partitionId},"offset":${offset},"timestampMicros":${timestampMicros},"id":"${id.toString(16)}","headers":{${headers.join(',')}},${content}}`;
}

function headerValue(value: unknown): string {
	if (typeof value === 'bigint') return String(value);
	if (value instanceof Uint8Array) return `{"base64":"${base64(value)}"}`;
	if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`;
	return harmless(JSON.stringify(value) ?? 'null');
}
