// A development server in a process of its own, with a full change feed: benchmarks must not share its event loop.
// Prints one JSON line when ready; ends with its standard input.
import { encode } from 'cborg';
import { startServer } from '../../dev-server/dist/index.js';

const [records = '1000000', staticDir] = process.argv.slice(2);
const server = await startServer({
	ws: '127.0.0.1:0',
	tcp: '127.0.0.1:0',
	http: '127.0.0.1:0',
	...(staticDir === undefined ? {} : { staticDir }),
});
const index = 'stream:bench/orders_v1';
const total = Number(records);
const CHUNK = 1000;
for (let at = 0; at < total; at += CHUNK) {
	const batch = [];
	for (let i = at; i < Math.min(total, at + CHUNK); i += 1) {
		batch.push({
			payload: encode(
				{ v: 1, index, partition_id: i % 4, from_offset: i, to_offset: i, rows: 1 },
				{ mapSorter: undefined },
			),
		});
	}
	await server.log.append('_agdx', 'changes', 0, batch);
}
console.log(JSON.stringify({ ...server.addresses, records: total, index }));
process.stdin.resume();
process.stdin.on('end', () => void server.close().then(() => process.exit(0)));
