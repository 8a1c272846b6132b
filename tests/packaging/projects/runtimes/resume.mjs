// Takes batches of a record each into the file, row and position at once, and stops after as many as it is told to.

import { FileStore } from 'tidemark/file-store';
import { Laser } from 'tidemark/watch';

const [ws, file, batches] = process.argv.slice(2);
const store = new FileStore(file);
const laser = await Laser.connectWithStream(ws, 'pack', { username: 'iggy', password: 'iggy' });
const watcher = laser.topic('ten').durable('ten', { store, byteCap: 1 });
let left = Number(batches);
for await (const batch of watcher) {
	if (left === 0) break;
	await batch.commit((transaction) => {
		for (const record of batch.changes) {
			const { n } = record.json();
			transaction.put('rows', String(n), { n, times: (transaction.get('rows', String(n))?.times ?? 0) + 1 });
		}
	});
	left -= 1;
}
await laser.close();
console.log(JSON.stringify([...(await store.rows('rows')).values()].map(({ n, times }) => [n, times])));
