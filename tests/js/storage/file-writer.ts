// Run in processes of its own by file-store.test.ts: counts one up per commit, as fast as it can, row and position at once.
import { FileStore } from '../../../js/storage/file-store.js';

const [path, rounds] = process.argv.slice(2);
const store = new FileStore(path!, { blockedTimeoutMs: 20_000 });
for (let i = 0; i < Number(rounds); i++) {
	let next = 0n;
	await store.update(
		{ scope: 'default', name: 'orders' },
		(stored) => {
			next = (stored?.positions.get(0) ?? 0n) + 1n;
			return {
				put: {
					positions: new Map([[0, next]]),
					identity: undefined,
					epoch: 1,
					updatedAt: 1,
					source: { content: 'records', stream: 's', topic: 't' },
				},
			};
		},
		(transaction) => transaction.put('rows', String(next), { next, padding: 'x'.repeat(200) }),
	);
	process.stdout.write(`${next}\n`);
}
