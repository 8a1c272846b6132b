/** Query results as tables of Apache Arrow. Needs the package `apache-arrow`, an optional peer of this one. */
import { Field, Float32, makeData, RecordBatch, Schema, Struct, Table } from 'apache-arrow';
import { arrowData, arrowField } from './arrow/data.js';
import type { QueryResult } from './query/result.js';

export interface ToArrowOptions {
	/** Adds the scores of a search as a last column of this name. Left out, a table has the result's fields only. */
	readonly score?: string;
}

/**
 * Pages of one result as one table, a record batch a page. Columns are not copied: the table shares the memory of
 * `result.columns`, but for fixed-length binaries with nulls and for the members of structs with nulls.
 *
 * @throws {TypeError} no page, or pages of different fields
 */
export function toArrow(pages: QueryResult | readonly QueryResult[], options: ToArrowOptions = {}): Table {
	const list = 'columns' in pages ? [pages] : pages;
	const [first] = list;
	if (first === undefined) throw new TypeError('toArrow: there is no page, so the fields are not known');
	const { score } = options;
	const own = first.fields.map(arrowField);
	const schema = new Schema(score === undefined ? own : [...own, new Field(score, new Float32(), true)]);
	const shape = JSON.stringify(first.fields);
	const batches = list.map((page) => {
		if (page !== first && JSON.stringify(page.fields) !== shape)
			throw new TypeError('toArrow: the pages have different fields');
		const length = page.rowCount;
		const children = page.fields.map((field, index) =>
			arrowData(page.columns[index]!, field.fieldType),
		) as ReturnType<typeof arrowData>[];
		if (score !== undefined) children.push(scores(page));
		return new RecordBatch(
			schema,
			makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }),
		);
	});
	return new Table(schema, batches);
}

function scores(page: QueryResult): ReturnType<typeof arrowData> {
	if (page.scores !== undefined) return arrowData(page.scores, { kind: 'float' });
	const length = page.rowCount;
	const nullBitmap = new Uint8Array((length + 7) >>> 3);
	return makeData({
		type: new Float32(),
		length,
		nullCount: length,
		nullBitmap,
		data: new Float32Array(length),
	});
}
