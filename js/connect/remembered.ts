import type { Dialect } from '../core/contract.js';
import { driverDefaults } from './defaults.js';

/** What each server took last, for as long as the module lives. */
const taken = new Map<string, Dialect>();

const serverOf = (url: string): string => new URL(url).origin;

/** The dialects in the order to be tried at this server: the one that it took last goes first. */
export function rememberedFirst(
	url: string,
	dialects: readonly Dialect[] = driverDefaults.dialects,
): readonly Dialect[] {
	const last = taken.get(serverOf(url));
	if (last === undefined || !dialects.includes(last)) return dialects;
	return [last, ...dialects.filter((one) => one !== last)];
}

export function remember(url: string, dialect: Dialect): void {
	taken.set(serverOf(url), dialect);
}
