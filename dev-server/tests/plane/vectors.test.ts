/** The requests of the vector corpus, read by the server's own decoders: good ones accepted, bad ones refused by rule. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readBinding, readControlEnvelope, readProjection } from '../../src/plane/control_model.js';
import { readExecutionRequest, readPageEnvelope, readQueryEnvelope } from '../../src/plane/query_request.js';
import { decodeCbor, encodeCbor } from '../../src/plane/wire/cbor.js';
import { readMutationEnvelope, readReadEnvelope } from '../../src/plane/wire/envelope.js';
import { Refusal } from '../../src/plane/wire/refusal.js';
import { readTypedValue } from '../../src/plane/wire/typed_value.js';

const root = new URL('../../../tests/vectors/agdx/', import.meta.url);

interface Sidecar {
	vector: string;
	message: string;
	outcome: string;
	rule?: string;
	canonical_hex?: string;
}

/** Reads the message; returns what encodes back to the canonical bytes, when the reader keeps all of it. */
const readers: Record<string, (item: unknown) => unknown> = {
	TypedValue: (item) => readTypedValue(item, ''),
	Projection: (item) => readProjection(item, ''),
	ProjectionBinding: (item) => readBinding(item, ''),
	ControlEnvelope: (item) => void readControlEnvelope(item),
	ManagedRequestEnvelope: (item) => readMutationEnvelope(item),
	ManagedReadEnvelope: (item) => void readReadEnvelope(item),
	QueryEnvelope: (item) => {
		const envelope = readQueryEnvelope(item);
		envelope.query();
	},
	QueryPageEnvelope: (item) => readPageEnvelope(item) && undefined,
	QueryCancelEnvelope: (item) => void readExecutionRequest(item),
	QueryStatusEnvelope: (item) => void readExecutionRequest(item),
};

function read(name: string): { sidecar: Sidecar; bytes: Uint8Array } {
	return {
		sidecar: JSON.parse(readFileSync(new URL(`${name}.json`, root), 'utf8')) as Sidecar,
		bytes: new Uint8Array(readFileSync(new URL(`${name}.bin`, root))),
	};
}

const vectors = readdirSync(root)
	.filter((file) => file.endsWith('.json'))
	.map((file) => read(file.slice(0, -5)))
	.filter(({ sidecar }) => sidecar.message in readers);

describe('vectors of requests', () => {
	it('covers every family that the plane reads', () => {
		expect(vectors.length).toBeGreaterThan(150);
		expect(new Set(vectors.map(({ sidecar }) => sidecar.message))).toEqual(new Set(Object.keys(readers)));
	});

	for (const { sidecar, bytes } of vectors) {
		it(`${sidecar.vector} is ${sidecar.outcome}`, () => {
			const decode = () => readers[sidecar.message]!(decodeCbor(bytes));
			if (sidecar.outcome === 'valid' || sidecar.outcome === 'valid_noncanonical') {
				const value = decode();
				if (value === undefined) return;
				const canonical = sidecar.canonical_hex ?? Buffer.from(bytes).toString('hex');
				expect(Buffer.from(encodeCbor(value)).toString('hex')).toBe(canonical);
				return;
			}
			let error: unknown;
			try {
				decode();
			} catch (thrown) {
				error = thrown;
			}
			expect(error).toBeInstanceOf(Refusal);
			const refusal = error as Refusal;
			expect(refusal.kind).toBe(sidecar.outcome === 'decode_error' ? 'codec' : 'invalid');
			if (sidecar.outcome === 'invalid') expect(refusal.rule).toBe(sidecar.rule);
		});
	}
});
