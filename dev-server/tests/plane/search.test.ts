/** Vector and lexical search, and a client's own statements. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevDestination } from '../../src/contract.js';
import { createPlane } from '../../src/plane/index.js';
import { type Answer, OPTIONS, plainRows, queryOn, TestClient, text } from './client.js';
import { MemoryLog } from './memory_log.js';

let client: TestClient;
let lake: DevDestination;

const SCHEMA = [
	{ name: 'id', type: 'long' },
	{ name: 'title', type: 'string' },
	{ name: 'body', type: 'string' },
	{ name: 'embedding', type: { kind: 'list', element: 'float' } },
	{ name: 'price', type: { kind: 'decimal', precision: 10, scale: 2 } },
] as const;
const ROWS = [
	[1, 'Red fox', 'The quick red fox, the red fox.', [0, 0], '1.10'],
	[2, 'Blue whale', 'A whale is not a fox.', [3, 4], '2.20'],
	[3, 'Straße', 'Über die Straße; FOX', [1, 0], '3.30'],
	[4, 'Nothing', 'No animal here at all, only a very long text about other things', [1, null], '4.40'],
	[5, null, null, [1, 2, 3], null],
	[6, 'null vector', 'x', null, '6.60'],
] as const;

beforeAll(async () => {
	const log = new MemoryLog();
	client = new TestClient(await createPlane(log, OPTIONS), log);
	await client.plane.createIndex('docs', SCHEMA, ROWS);
	lake = await client.plane.createDestination({ name: 'docs', schema: SCHEMA, rows: ROWS });
});
afterAll(() => client.plane.close());

const string = (value: string) => ({ kind: 'string', value });
const long = (value: bigint) => ({ kind: 'long', value });

function target(kind: string) {
	if (kind === 'operational') return { kind, index: 'docs' };
	return { kind, destination_id: lake.id, destination_generation: lake.generation };
}

for (const kind of ['operational', 'lakehouse']) {
	const ask = (query: Record<string, unknown>) => client.query('docs', { target: target(kind), ...query });
	const ids = (reply: Answer) => {
		expect(reply.Ok, text(reply)).toBeDefined();
		return plainRows(reply).map(([id]) => id);
	};

	describe(`vector search, ${kind}`, () => {
		it('gives the nearest rows with their distance', async () => {
			const reply = await ask({ vector: { field: 'embedding', embedding: [0.5, 0], top_k: 10n } });
			expect(ids(reply)).toEqual([1n, 3n, 2n]);
			const scores = reply.Ok.rows.map((row: Answer) => row.score);
			expect(scores.slice(0, 2)).toEqual([0.5, 0.5]);
			expect(scores[2]).toBe(Math.fround(Math.hypot(2.5, 4)));
			expect(reply.Ok.page.has_more).toBe(false);
		});

		it('takes filters first, and cuts at top_k', async () => {
			const filter = { pred: { field: 'id', op: 'gt', value: long(1n) } };
			const vector = { field: 'embedding', embedding: [0, 0], top_k: 1n };
			expect(ids(await ask({ vector, filter }))).toEqual([3n]);
			const cut = await ask({ vector: { ...vector, top_k: 3n }, page: { limit: 2n } });
			expect(cut.Ok.page).toMatchObject({ limit: 2n, has_more: false });
			expect(cut.Ok.context.truncated).toBe(true);
		});

		it('a vector of another length is near to nothing', async () => {
			expect(ids(await ask({ vector: { field: 'embedding', embedding: [1, 2, 4], top_k: 5n } }))).toEqual([
				5n,
			]);
			expect(ids(await ask({ vector: { field: 'embedding', embedding: [1], top_k: 5n } }))).toEqual([]);
		});

		it('is refused where it makes no sense', async () => {
			const vector = { field: 'title', embedding: [1], top_k: 5n };
			expect((await ask({ vector })).message).toContain('vector');
			expect((await ask({ vector: { ...vector, field: 'nope' } })).message).toContain('vector');
			expect(
				(await ask({ vector: { ...vector, field: 'embedding' }, distinct: true })).Err.Unsupported,
			).toContain('distinct');
		});
	});

	describe(`lexical search, ${kind}`, () => {
		it('ranks rows that say it more, in less text, higher', async () => {
			const reply = await ask({ text: { query: 'red FOX' } });
			expect(ids(reply)).toEqual([1n, 3n, 2n]);
			const scores = reply.Ok.rows.map((row: Answer) => row.score as number);
			expect(scores[0]).toBeGreaterThan(scores[1]!);
			expect(scores[1]).toBeGreaterThan(scores[2]!);
		});

		it('the score is BM25', async () => {
			const reply = await ask({ text: { field: 'body', query: 'whale' } });
			expect(ids(reply)).toEqual([2n]);
			// Five bodies have tokens: of 7, 6, 4, 13 and 1 of them.
			const idf = Math.log(1 + (5 - 1 + 0.5) / (1 + 0.5));
			const tf = 1;
			const expected = (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * 6) / (31 / 5)));
			expect(reply.Ok.rows[0].score).toBeCloseTo(expected, 6);
		});

		it('searches one field, other alphabets, and quotes as they are', async () => {
			expect(ids(await ask({ text: { field: 'title', query: 'fox' } }))).toEqual([1n]);
			expect(ids(await ask({ text: { query: 'ÜBER' } }))).toEqual([3n]);
			expect(ids(await ask({ text: { query: `'; DROP TABLE ix_1; --` } }))).toEqual([]);
			expect(ids(await ask({ text: { query: '...' } }))).toEqual([]);
			expect((await ask({ text: { field: 'id', query: 'x' } })).message).toContain('text');
		});

		it('pages keep the order of the first one', async () => {
			const query = queryOn('docs', {
				target: target(kind),
				text: { query: 'fox' },
				page: { limit: 1n, want_total: true },
			});
			let reply = await client.send(1_000_200, { v: 1n, query });
			const seen: unknown[] = [];
			for (;;) {
				seen.push(...ids(reply));
				expect(reply.Ok.page.total).toBe(3n);
				const cursor = reply.Ok.page.next_cursor;
				if (cursor === undefined) break;
				const { execution_id, deadline_micros } = query;
				reply = await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros });
			}
			expect(seen).toEqual([1n, 3n, 2n]);
		});
	});

	describe(`raw SQL, ${kind}`, () => {
		const sql = (statement: string, params: unknown[] = [], extra: object = {}) =>
			ask({ raw_sql: { dialect: 'postgres', sql: statement, params }, ...extra });

		it('one SELECT with bound parameters, its types as they are', async () => {
			const reply = await sql(
				`SELECT id, price * 2 AS twice, embedding, struct_pack(a := id::INTEGER, b := title) AS s, map([id], [title]) AS m,
				 DATE '2020-01-02' AS day, TIMESTAMP '1970-01-01 00:00:01' AS at, NULL AS nothing, sum(id) OVER () AS total
				 FROM docs WHERE id = $1 OR title = $2 ORDER BY id`,
				[long(2n), string('Red fox')],
			);
			expect(reply.Ok, text(reply)).toBeDefined();
			expect(reply.Ok.context.engine.dialect).toBe('postgres');
			const kinds = reply.Ok.fields.map((f: Answer) => f.field_type.kind);
			expect(kinds).toEqual([
				'long',
				'decimal',
				'list',
				'struct',
				'map',
				'date',
				'timestamp_micros',
				'int',
				'decimal',
			]);
			const [first] = plainRows(reply) as [Answer[]];
			expect(first[0]).toBe(1n);
			expect(first[1].unscaled).toEqual(Uint8Array.of(0, 220));
			expect(first[3].map((e: Answer) => e.value)).toEqual([{ kind: 'int', value: 1n }, string('Red fox')]);
			expect(first[4]).toEqual([{ key: long(1n), value: string('Red fox') }]);
			expect(first.slice(5, 8)).toEqual([18263n, 1_000_000n, null]);
			expect(first[8]).toEqual({ unscaled: Uint8Array.of(3), precision: 38n, scale: 0n });
		});

		it('parameters of every kind', async () => {
			const params = [
				{ kind: 'boolean', value: true },
				{ kind: 'int', value: 7n },
				{ kind: 'double', value: 0.5 },
				{ kind: 'decimal', value: { unscaled: Uint8Array.of(99), precision: 3n, scale: 1n } },
				{ kind: 'date', value: 3n },
				{ kind: 'uuid', value: new Uint8Array(16).fill(1) },
				{ kind: 'binary', value: Uint8Array.of(1, 2) },
				{ kind: 'list', value: [long(1n), { kind: 'null' }] },
				{ kind: 'timestamp_tz_micros', value: 5n },
				{ kind: 'null' },
			];
			const list = params.map((_, i) => `$${i + 1} AS p${i}`).join(', ');
			const reply = await sql(`SELECT ${list}`, params);
			expect(reply.Ok, text(reply)).toBeDefined();
			expect(reply.Ok.rows[0].values).toEqual(params);
		});

		it('pages of one result', async () => {
			const query = queryOn('docs', {
				target: target(kind),
				raw_sql: { dialect: 'postgres', sql: 'SELECT random() AS r FROM range(25)' },
				page: { limit: 10n, want_total: true },
			});
			const seen: unknown[] = [];
			let reply = await client.send(1_000_200, { v: 1n, query });
			const firstCursor = reply.Ok.page.next_cursor;
			let second: unknown;
			for (;;) {
				seen.push(...plainRows(reply).map(([r]) => r));
				expect(reply.Ok.page.total).toBe(25n);
				const cursor = reply.Ok.page.next_cursor;
				if (cursor === undefined) break;
				const { execution_id, deadline_micros } = query;
				reply = await client.send(1_000_201, { v: 1n, execution_id, cursor, deadline_micros });
				second ??= plainRows(reply);
			}
			expect(new Set(seen).size).toBe(25);
			const { execution_id, deadline_micros } = query;
			const again = await client.send(1_000_201, {
				v: 1n,
				execution_id,
				cursor: firstCursor,
				deadline_micros,
			});
			expect(plainRows(again)).toEqual(second);
		});

		it('nothing but a SELECT, nothing but its target', async () => {
			const refused = [
				'SELECT 1; SELECT 2',
				'DROP TABLE docs',
				'INSERT INTO docs VALUES (1)',
				'DELETE FROM store.held',
				'CREATE TABLE t (a INT)',
				`COPY docs TO '/tmp/out.csv'`,
				'PRAGMA version',
				'SET threads = 1',
				"ATTACH ':memory:' AS other",
				`SELECT * FROM read_csv('/etc/passwd')`,
				`SELECT * FROM read_text('/etc/hostname')`,
				`SELECT * FROM '/etc/passwd'`,
				`SELECT * FROM glob('/*')`,
				`SELECT getenv('HOME')`,
				'SELECT * FROM plane_index',
				'SELECT * FROM ix_1',
				`SELECT * FROM query('DROP TABLE docs')`,
				'EXPLAIN SELECT 1',
				'nonsense',
				'SELECT nope FROM docs',
				'SELECT 1 AS a, 2 AS a',
				'SELECT $1',
			];
			for (const statement of refused) {
				const reply = await sql(statement);
				expect(reply.code, `${statement}: ${text(reply)}`).toBe('invalid_argument');
				expect(reply.message).toContain('raw_sql');
			}
			const tables = await sql(
				`SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'ix_%' OR table_name LIKE 'plane_%'`,
			);
			expect(plainRows(tables)).toEqual([[0n]]);
			expect(Object.keys((await sql('SELECT INTERVAL 1 DAY AS i')).Err)).toEqual(['Unsupported']);
			expect((await sql(`SELECT 'inf'::DOUBLE AS x`)).Err.Backend).toContain('finite');
			expect(
				(await sql(`SELECT error('stop')`)).Err?.Backend ?? (await sql(`SELECT error('stop')`)).message,
			).toContain('stop');
		});
	});
}

it('later rows are found by text and by statements, removed ones are not', async () => {
	const { log } = client;
	await log.ensureTopic('s', 'notes', 1);
	await client.registerProjection('n', [
		{ name: 'id', pointer: '/id', field_type: 'int' },
		{ name: 'words', pointer: '/words' },
	]);
	const source = { stream: 's', topic: 'notes' };
	await client.applyBinding({
		source,
		default_projection: 'n',
		index: 'stream:s/notes',
		retention: { kind: 'mirror_log' },
	});
	const found = async () => {
		await client.plane.settle();
		const texts = await client.rows('stream:s/notes', {
			text: { query: 'apple' },
			order: [{ field: 'id', dir: 'asc' }],
		});
		const raw_sql = { dialect: 'postgres', sql: 'SELECT id FROM notes ORDER BY id' };
		const rows = await client.rows('stream:s/notes', { raw_sql });
		return [texts.map(([id]) => id), rows.map(([id]) => id)];
	};
	await client.publish('s', 'notes', 0, [
		{ id: 1, words: 'apple' },
		{ id: 2, words: 'pear' },
	]);
	expect(await found()).toEqual([[1n], [1n, 2n]]);
	await client.publish('s', 'notes', 0, [{ id: 3, words: 'an apple' }]);
	expect(await found()).toEqual([
		[1n, 3n],
		[1n, 2n, 3n],
	]);
	log.trim('s', 'notes', 0, 1n);
	await client.publish('s', 'notes', 0, [{ id: 4, words: 'apple' }]);
	expect(await found()).toEqual([
		[3n, 4n],
		[2n, 3n, 4n],
	]);
	// A column that becomes text has its earlier values searched too.
	await client.publish('s', 'notes', 0, ['{"id":5,"words":7}']);
	expect(
		await client.rows('stream:s/notes', { text: { query: 'apple' }, consistency: 'read_your_writes' }),
	).toHaveLength(2);
});
