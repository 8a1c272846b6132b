// The example programs of the documentation, the same text for pages and Node.
import {
	type ConnectOptions,
	isReady,
	Laser,
	ProjectionBindingBuilder,
	ProjectionBuilder,
	unreadyBackends,
} from 'tidemark';

const LOGIN = { username: 'iggy', password: 'iggy' };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const connect = (ws: string, stream: string, options: ConnectOptions = {}): Promise<Laser> =>
	Laser.connectWithStream(ws, stream, { ...LOGIN, ...options });

/** A projection and a notifying binding, waited for until they are in force. */
export async function bindOrders(ws: string, stream: string): Promise<void> {
	const laser = await connect(ws, stream);
	await laser.waitUntilReady(30_000);
	await laser.topic('orders').ensure(1);
	await laser
		.projections()
		.register(
			new ProjectionBuilder('orders_v1.v1').contentType('json').fields(['id', 'status', 'total']).build(),
		);
	await laser
		.bindings()
		.apply(
			new ProjectionBindingBuilder()
				.source(stream, 'orders')
				.allow('orders_v1.v1')
				.defaultProjection('orders_v1.v1')
				.index('orders_v1')
				.notify()
				.build(),
		);
	for (let attempt = 0; ; attempt++) {
		const found = await laser.projections().get('orders_v1.v1');
		if (found?.bindings.some((binding) => binding.source.stream === stream) === true) break;
		if (attempt === 200) throw new Error('the binding did not come into force');
		await sleep(50);
	}
	await laser.close();
}

export interface Advance {
	printed: string[];
	rows: Record<string, unknown>[];
}

/** 1: publish, and see the view advance; then its rows. */
export async function changeFeed(ws: string, stream: string): Promise<Advance> {
	const laser = await connect(ws, stream);
	const printed: string[] = [];
	const feed = await laser.watch().index('orders_v1').records();
	while ((await feed.poll()).length > 0) {
		// What an earlier run left.
	}
	await laser.topic('orders').publish().json({ id: 4, status: 'paid', total: 20 }).send();
	let changes = await feed.poll();
	while (changes.length === 0) {
		await sleep(200);
		changes = await feed.poll();
	}
	for (const c of changes) {
		printed.push(`view advanced: ${c.rows} row(s), source offsets ${c.fromOffset}..${c.toOffset}`);
	}
	const result = await laser
		.query('orders_v1')
		.filterEq('id', 4)
		.orderAsc('id')
		.limit(10)
		.readYourWrites()
		.fetch();
	const rows = result.objects().map((row) => ({ ...row }));
	await laser.close();
	return { printed, rows };
}

/** 2: wait until everything is ready. */
export async function readiness(ws: string): Promise<unknown[]> {
	const laser = await connect(ws, 'shop');
	const caps = await laser.waitUntilReady(30_000);
	const said = [
		isReady(caps),
		caps.query.available,
		typeof caps.kv.fencedLeases,
		unreadyBackends(caps).length,
	];
	await laser.close();
	return said;
}

export interface Seen {
	ranges: string[];
	/** Partition and next offset, as text: what an application would save. */
	saved: [number, string][];
}

/** 3, the reading tab: everything since the saved offsets. */
export async function advances(ws: string, stream: string, saved: [number, string][]): Promise<Seen> {
	const laser = await connect(ws, stream);
	const feed = await laser.watch().index('orders_v1').records();
	if (saved.length > 0)
		feed.fromOffsets(new Map(saved.map(([partition, next]) => [partition, BigInt(next)])));
	const ranges: string[] = [];
	for (;;) {
		const changes = await feed.poll();
		if (changes.length === 0) break;
		for (const c of changes) ranges.push(`${c.fromOffset}..${c.toOffset}`);
	}
	const offsets = [...feed.offsets].map(([partition, next]): [number, string] => [partition, String(next)]);
	await laser.close();
	return { ranges, saved: offsets };
}

/** 3, the publishing tab. */
export async function publishOrders(ws: string, stream: string, from: number, count: number): Promise<void> {
	const laser = await connect(ws, stream);
	for (let id = from; id < from + count; id++) {
		await laser
			.topic('orders')
			.publish()
			.json({ id, status: 'new', total: id * 2 })
			.send();
	}
	await laser.close();
}
