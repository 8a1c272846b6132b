import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { typedValueDiagnosticText } from '../../js/query/text.js';
import type { TypedValue } from '../../js/query/value.js';
import { Reader, Refused } from './cbor.js';
import { handObjects } from './objects.js';
import { decodeQueryReply } from './query-reply.js';
import { checkValue, readValue, type Value } from './typed-value.js';

const folder = new URL('../vectors/agdx/', import.meta.url);

interface Vector {
	name: string;
	bytes: Uint8Array;
	sidecar: {
		message: string;
		outcome: string;
		rule?: string;
		diagnostic_text?: string;
		request_execution_id_hex?: string;
		// biome-ignore lint/suspicious/noExplicitAny: as the golden file has it
		cbor: any;
	};
}

const vectors: Vector[] = readdirSync(folder)
	.filter((name) => name.endsWith('.json'))
	.map((name) => ({
		name,
		sidecar: JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
		bytes: new Uint8Array(readFileSync(new URL(name.replace('.json', '.bin'), folder))),
	}));
const of = (message: string) => vectors.filter(({ sidecar }) => sidecar.message === message);

const CATEGORY: Record<string, string> = {
	decode_error: 'codec',
	invalid: 'invalid',
	protocol_error: 'protocol',
};

function refusal(run: () => unknown): Refused {
	try {
		run();
	} catch (error) {
		if (error instanceof Refused) return error;
		throw error;
	}
	throw new Error('accepted');
}

function bytesOf(hex: string): Uint8Array {
	return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

// biome-ignore lint/suspicious/noExplicitAny: as the golden file has it
function cell(value: any): unknown {
	const payload = value.value;
	if (value.kind === 'null') return null;
	if (typeof payload !== 'object')
		return value.kind === 'long' || /micros/.test(value.kind) ? BigInt(payload) : payload;
	if ('$int' in payload) return BigInt(payload.$int);
	if ('$float' in payload) return payload.$float;
	if ('$bytes' in payload) return bytesOf(payload.$bytes);
	return undefined;
}

function value(bytes: Uint8Array): Value {
	const reader = new Reader(bytes);
	const read = readValue(reader);
	reader.expectEnd();
	checkValue(read);
	return read;
}

describe('typed values in plain TypeScript', () => {
	test.each(of('TypedValue'))('$name', ({ sidecar, bytes }) => {
		if (sidecar.outcome.startsWith('valid')) {
			const read = value(bytes);
			if (sidecar.diagnostic_text !== undefined)
				expect(typedValueDiagnosticText(read as TypedValue)).toBe(sidecar.diagnostic_text);
			return;
		}
		const refused = refusal(() => value(bytes));
		expect([refused.category, refused.rule]).toEqual([CATEGORY[sidecar.outcome], sidecar.rule]);
	});
});

describe('query replies in plain TypeScript', () => {
	test.each(of('QueryReply'))('$name', ({ sidecar, bytes }) => {
		const hex = sidecar.request_execution_id_hex;
		const decode = () => decodeQueryReply(bytes, hex === undefined ? undefined : bytesOf(hex));
		if (!sidecar.outcome.startsWith('valid')) {
			const refused = refusal(decode);
			expect([refused.category, refused.rule]).toEqual([CATEGORY[sidecar.outcome], sidecar.rule]);
			return;
		}
		const page = decode();
		if (page === undefined) {
			expect(sidecar.cbor.Err).toBeDefined();
			return;
		}
		const wanted = sidecar.cbor.Ok;
		expect(page.rows).toBe(wanted.rows.length);
		expect(page.fields.map(({ name }) => name)).toEqual(
			wanted.fields.map(({ name }: { name: string }) => name),
		);
		const objects = handObjects(page);
		wanted.rows.forEach(({ values }: { values: unknown[] }, row: number) => {
			page.columns.forEach((column, index) => {
				const plain = cell(values[index]);
				if (plain === undefined) return;
				expect(column.at(row)).toEqual(plain);
				if (column.field.kind === 'uuid') return;
				expect(objects[row]![column.field.name]).toEqual(plain);
			});
		});
	});
});
