import { type ChartParts, drawChart } from './chart.js';
import { type FeedEntry, Model, type Order } from './model.js';

function element<T extends Element = HTMLElement>(id: string): T {
	const found = document.getElementById(id);
	if (found === null) throw new Error(`#${id} is missing`);
	return found as unknown as T;
}

const FEED_LINES = 200;
const entries: FeedEntry[] = [];
const known = new Set<string>();

function setTheme(theme: 'light' | 'dark'): void {
	document.documentElement.dataset['theme'] = theme;
	element('theme').setAttribute('aria-pressed', String(theme === 'dark'));
}

function showConnection(state: string, detail: string): void {
	element('state-dot').dataset['state'] = state;
	element('state-name').textContent = state;
	element('state-detail').textContent = detail;
}

function feedLine(entry: FeedEntry): HTMLLIElement {
	const line = document.createElement('li');
	if (entry.gap) line.className = 'gap';
	const text = document.createElement(entry.gap ? 'strong' : 'span');
	text.textContent = entry.text;
	const small = document.createElement('small');
	small.textContent = `${new Date(entry.atMs).toLocaleTimeString()} · ${entry.detail}`;
	line.append(text, small);
	return line;
}

const chart = (): ChartParts => ({
	svg: element<SVGElement>('chart'),
	caption: element('chart-caption'),
	top: element('chart-top'),
	from: element('chart-from'),
	to: element('chart-to'),
});

function showEntries(added: readonly FeedEntry[]): void {
	entries.push(...added);
	const list = element<HTMLOListElement>('feed');
	for (const entry of added.slice(-FEED_LINES)) list.prepend(feedLine(entry));
	while (list.childElementCount > FEED_LINES) list.lastElementChild?.remove();
	element('feed-empty').hidden = entries.length > 0;
	element('row-count').textContent = String(entries.reduce((sum, entry) => sum + entry.rows, 0));
	drawChart(chart(), entries);
}

function showOrders(orders: readonly Order[]): void {
	const first = known.size === 0;
	element<HTMLTableSectionElement>('orders').replaceChildren(
		...orders.map((order) => {
			const row = document.createElement('tr');
			if (!first && !known.has(order.id)) row.className = 'fresh';
			known.add(order.id);
			const cells = [order.id, order.item, order.status, order.total.toFixed(2)].map((text, column) => {
				const cell = document.createElement('td');
				if (column === 2) {
					const tag = document.createElement('span');
					tag.className = 'tag';
					tag.dataset['status'] = text;
					tag.textContent = text;
					cell.append(tag);
				} else {
					cell.textContent = text;
				}
				if (column === 3) cell.className = 'number';
				return cell;
			});
			row.append(...cells);
			return row;
		}),
	);
	element('orders-empty').hidden = orders.length > 0;
}

/** Asks the development server for trouble. Not part of a real application. */
async function trouble(fault: Record<string, unknown>): Promise<void> {
	const response = await fetch('/faults', {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify(fault),
	});
	if (!response.ok) throw new Error(`the server answered ${response.status}`);
}

/** Runs what a control does and says how it went beside it. */
function on(id: string, event: string, note: string, action: (event: Event) => Promise<string>): void {
	element(id).addEventListener(event, (happened) => {
		happened.preventDefault();
		action(happened).then(
			(text) => {
				element(note).textContent = text;
			},
			(error: unknown) => {
				element(note).textContent =
					`That did not work: ${error instanceof Error ? error.message : String(error)}`;
			},
		);
	});
}

let counter = 0;
function newOrder(form: FormData): Order {
	counter += 1;
	return {
		id: `${Date.now().toString(36)}-${counter.toString(36).padStart(2, '0')}`,
		item: String(form.get('item')),
		status: String(form.get('status')),
		total: Number(form.get('total')),
	};
}

async function follow(model: Model): Promise<void> {
	for await (const batch of model.watcher.follow()) {
		showEntries(await model.commit(batch));
		showPosition(model.watcher.position);
		// One read for everything that landed: a change is a hint, the rows are in the index.
		if (batch.changes.length > 0) showOrders(await model.orders());
	}
}

function showPosition(positions: ReadonlyMap<number, bigint>): void {
	const position = [...positions];
	element('position').textContent =
		position.length === 0
			? 'at the beginning'
			: position.map(([partition, next]) => `${partition}:${next}`).join(' ');
}

async function start(): Promise<void> {
	setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
	element('theme').addEventListener('click', () =>
		setTheme(document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark'),
	);
	drawChart(chart(), []);
	showConnection('connecting', '');
	const { ws } = (await (await fetch('/tidemark-dev.json')).json()) as { ws: string };
	const model = await Model.open(ws);

	const connection = model.laser.connection;
	const show = (): void =>
		showConnection(
			connection.state,
			`${connection.dialect ?? ''} · ${model.place}${connection.attempts > 0 ? ` · attempt ${connection.attempts}` : ''}`,
		);
	connection.addEventListener('state', show);
	show();

	on('order-form', 'submit', 'publish-result', async () => {
		const order = newOrder(new FormData(element<HTMLFormElement>('order-form')));
		await model.publish([order]);
		return `Published order ${order.id}.`;
	});
	on('send-ten', 'click', 'publish-result', async () => {
		const form = new FormData(element<HTMLFormElement>('order-form'));
		await model.publish(Array.from({ length: 10 }, () => newOrder(form)));
		return 'Published ten orders.';
	});
	on('cut', 'click', 'trouble-result', async () => {
		await trouble({ kind: 'cut' });
		return 'The server cut every connection.';
	});
	on('trim', 'click', 'trouble-result', async () => {
		await trouble({ kind: 'trim', stream: model.laser.opsStream, topic: model.laser.changesTopic });
		return 'The feed no longer has its old records.';
	});
	on('pause', 'click', 'trouble-result', async () => {
		const pause = element('pause').getAttribute('aria-pressed') !== 'true';
		element('pause').setAttribute('aria-pressed', String(pause));
		element('pause').textContent = pause ? 'Go on' : 'Pause this tab';
		if (pause) connection.pause('user');
		else connection.resume('user');
		return pause ? 'This tab has hung up.' : 'This tab goes on where it was.';
	});
	on('forget', 'click', 'trouble-result', async () => {
		await model.forget();
		location.reload();
		return '';
	});

	showEntries(await model.history());
	showPosition(await model.storedPosition());
	showOrders(await model.orders());
	await follow(model);
}

start().catch((error: unknown) => {
	showConnection('closed', error instanceof Error ? error.message : String(error));
	console.error(error);
});
