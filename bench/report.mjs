// Results for people: how tidemark compares, then the medians and how far the rounds lay apart.

/** Milliseconds and bytes are better small, rates better large: a ratio above 1 says that the first subject wins. */
export function ratio(result, other) {
	return result.unit.endsWith('/s') ? result.value / other.value : other.value / result.value;
}

function atBest(own, one) {
	if (own.best === undefined || one.best === undefined) return '';
	return ` (${ratio({ ...own, value: own.best }, { ...one, value: one.best }).toFixed(2)}x)`;
}

function number(value) {
	return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function groups(results) {
	const found = new Map();
	for (const one of results) {
		const name = `${one.bench} · ${one.metric} · ${one.runtime}`;
		found.set(name, [...(found.get(name) ?? []), one]);
	}
	return found;
}

/** `best` of a result is its fastest round; `spread` is the lower and the upper quartile of its rounds, in the result's unit. */
export function report(results) {
	const ratios = [];
	const medians = [];
	for (const [name, group] of groups(results)) {
		const own = group.find(({ subject }) => subject === 'tidemark');
		if (own !== undefined && group.length > 1) {
			const against = group
				.filter((one) => one !== own)
				.map((one) => `${one.subject} ${ratio(own, one).toFixed(2)}x${atBest(own, one)}`);
			ratios.push(`  ${name.padEnd(44)} ${against.join('   ')}`);
		}
		medians.push(name);
		for (const { subject, value, unit, spread } of group) {
			const apart = spread === undefined ? '' : `   (${number(spread[0])} to ${number(spread[1])})`;
			medians.push(`  ${subject.padEnd(20)} ${number(value).padStart(12)} ${unit}${apart}`);
		}
	}
	const head =
		ratios.length > 0
			? ['tidemark against (by medians; in brackets by the fastest rounds)', ...ratios, '']
			: [];
	return `${[...head, ...medians].join('\n')}\n`;
}
