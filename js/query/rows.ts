import type { QueryColumn } from '../core/query.js';
import { setOwn } from '../core/tape.js';
import type { PlainOptions } from './cells.js';
import { plainValues } from './plain-columns.js';
import type { LogicalField } from './schema.js';

type Row = Record<string, unknown>;
type Values = ArrayLike<unknown>;

/** A page as plain objects; `plainReader` says what stands for what. */
export function plainRows(
	fields: readonly LogicalField[],
	columns: readonly QueryColumn[],
	count: number,
	as: PlainOptions = {},
): Row[] {
	const template: Row = {};
	for (const { name } of fields) setOwn(template, name, null);
	const rows: Row[] = new Array(count);
	for (let row = 0; row < count; row++) rows[row] = { ...template };
	const names = fields.map(({ name }) => Object.keys(setOwn({}, name, null))[0]!);
	const values = fields.map((field, index) => plainValues(columns[index]!, field.fieldType, count, as));
	for (let from = 0; from < fields.length; from += BLOCK) fill(rows, names, values, from);
	return rows;
}

const BLOCK = 16;

/**
 * Fills in up to BLOCK columns, row by row. Spreading the template gave each row all its properties, so that a store here is
 * one of a name that the place knows, to a place that the name has: a store in a loop over names costs four times as much. The
 * property exists, `__proto__` too, so no name reaches a prototype.
 */
function fill(rows: Row[], names: readonly string[], columns: readonly Values[], from: number): void {
	const [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = names.slice(from, from + BLOCK);
	const [va, vb, vc, vd, ve, vf, vg, vh, vi, vj, vk, vl, vm, vn, vo, vp] = columns.slice(from, from + BLOCK);
	for (let at = 0; at < rows.length; at++) {
		const row = rows[at]!;
		row[a!] = va![at];
		if (b === undefined) continue;
		row[b] = vb![at];
		if (c === undefined) continue;
		row[c] = vc![at];
		if (d === undefined) continue;
		row[d] = vd![at];
		if (e === undefined) continue;
		row[e] = ve![at];
		if (f === undefined) continue;
		row[f] = vf![at];
		if (g === undefined) continue;
		row[g] = vg![at];
		if (h === undefined) continue;
		row[h] = vh![at];
		if (i === undefined) continue;
		row[i] = vi![at];
		if (j === undefined) continue;
		row[j] = vj![at];
		if (k === undefined) continue;
		row[k] = vk![at];
		if (l === undefined) continue;
		row[l] = vl![at];
		if (m === undefined) continue;
		row[m] = vm![at];
		if (n === undefined) continue;
		row[n] = vn![at];
		if (o === undefined) continue;
		row[o] = vo![at];
		if (p === undefined) continue;
		row[p] = vp![at];
	}
}
