import type { QueryColumn } from '../core/query.js';
import { isSet } from '../query/cells.js';

const WIDTHS: Partial<Record<QueryColumn['kind'], number>> = { decimal: 16, uuid: 16 };

/**
 * A struct's member with a slot for each of the struct's, as Arrow has it: a column of ours has none where the struct is
 * null. The new slots are null, or zero where a member is never null.
 */
export function spread(parent: QueryColumn, member: QueryColumn, required: boolean): QueryColumn {
	const { length } = parent;
	if (member.length === length) return member;
	const places = parent.offsets!;
	let validity: Uint8Array | undefined;
	let nullCount = 0;
	if (!required) {
		validity = new Uint8Array((length + 7) >>> 3);
		for (let slot = 0; slot < length; slot++) {
			const at = places[slot]!;
			const held = at < places[slot + 1]! && (member.validity === undefined || isSet(member.validity, at));
			if (held) validity[slot >>> 3]! |= 1 << (slot & 7);
			else nullCount++;
		}
	}
	const shared = { ...member, length, validity, nullCount };
	// What has offsets needs no more than new ones: bytes and children stay where they are.
	if (member.offsets !== undefined)
		return { ...shared, offsets: places.map((at) => member.offsets![at]!), utf16: undefined };
	return { ...shared, values: spreadValues(parent, member) };
}

function spreadValues({ offsets, length }: QueryColumn, member: QueryColumn): QueryColumn['values'] {
	const places = offsets!;
	const { values } = member;
	if (member.kind === 'boolean') {
		const bits = new Uint8Array((length + 7) >>> 3);
		for (let slot = 0; slot < length; slot++)
			if (places[slot]! < places[slot + 1]! && isSet(values as Uint8Array, places[slot]!))
				bits[slot >>> 3]! |= 1 << (slot & 7);
		return bits;
	}
	const width = WIDTHS[member.kind] ?? 1;
	const spaced = new (values.constructor as new (length: number) => QueryColumn['values'])(length * width);
	for (let slot = 0; slot < length; slot++)
		if (places[slot]! < places[slot + 1]!)
			spaced.set(values.subarray(places[slot]! * width, places[slot + 1]! * width) as never, slot * width);
	return spaced;
}
