import type { FeedEntry } from './model.js';

const BUCKETS = 48;
const NAMESPACE = 'http://www.w3.org/2000/svg';

const time = (ms: number): string => new Date(ms).toLocaleTimeString();

function shape(name: string, attributes: Record<string, string>): SVGElement {
	const element = document.createElementNS(NAMESPACE, name);
	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
	return element;
}

/** Where a chart is drawn, and where what it shows is written. */
export interface ChartParts {
	svg: SVGElement;
	caption: HTMLElement;
	/** The highest value. */
	top: HTMLElement;
	from: HTMLElement;
	to: HTMLElement;
}

/** Draws how many rows had landed at each moment, from the first change to now. */
export function drawChart({ svg, caption, top, from, to }: ChartParts, entries: readonly FeedEntry[]): void {
	const changes = entries.filter((entry) => !entry.gap && entry.atMs > 0);
	svg.replaceChildren();
	svg.setAttribute('viewBox', '0 0 480 200');
	for (const y of [10, 70, 130, 190])
		svg.append(shape('line', { class: 'grid', x1: '0', x2: '480', y1: `${y}`, y2: `${y}` }));
	const first = changes[0];
	if (first === undefined) {
		caption.textContent = 'No changes yet.';
		for (const label of [top, from, to]) label.textContent = '';
		return;
	}
	const end = Math.max(Date.now(), first.atMs + 1000);
	const span = end - first.atMs;
	const totals = new Array<number>(BUCKETS + 1).fill(0);
	for (const change of changes) {
		const bucket = Math.min(BUCKETS, Math.max(0, Math.ceil(((change.atMs - first.atMs) / span) * BUCKETS)));
		totals[bucket] = (totals[bucket] ?? 0) + change.rows;
	}
	let running = 0;
	const heights = totals.map((rows) => {
		running += rows;
		return running;
	});
	const highest = Math.max(1, running);
	const points = heights.map((rows, index) => `${(index / BUCKETS) * 480},${190 - (rows / highest) * 180}`);
	svg.append(shape('polygon', { class: 'area', points: `0,190 ${points.join(' ')} 480,190` }));
	svg.append(shape('polyline', { class: 'edge', points: points.join(' ') }));
	top.textContent = String(highest);
	from.textContent = time(first.atMs);
	to.textContent = time(end);
	const seconds = Math.round(span / 1000);
	const length = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
	caption.textContent = `${running} rows in ${changes.length} changes over the last ${length}.`;
}
