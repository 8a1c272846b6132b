// For runs of the conformance suite where there is no test runner: in pages, workers, other runtimes.

/** One text for equal values: maps by their entries, properties that are undefined left out. */
function canonical(value: unknown): string {
	return JSON.stringify(value, (_, one: unknown) => {
		if (typeof one === 'bigint') return `${one}n`;
		if (one instanceof Map) return { map: [...one] };
		if (typeof one === 'object' && one !== null && !Array.isArray(one)) {
			return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));
		}
		return one;
	});
}

/** Throws when they differ. */
export function equal(actual: unknown, expected: unknown): void {
	const [is, shouldBe] = [canonical(actual), canonical(expected)];
	if (is !== shouldBe) throw new Error(`got ${is}, expected ${shouldBe}`);
}
