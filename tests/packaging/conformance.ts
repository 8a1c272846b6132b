// The promises of every store, run on the installed package's FileStore in whatever runtime runs this.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore, type FileTransaction } from 'tidemark/file-store';
import { storeConformance } from '../js/storage/conformance.js';
import { equal } from '../js/storage/equal.js';

const bodies: [string, () => Promise<void>][] = [];
const folder = await mkdtemp(join(tmpdir(), 'tidemark-conformance-'));
storeConformance<FileTransaction>(
	{ test: (name, body) => void bodies.push([name, body]), equal },
	{
		open: async (place) => new FileStore(join(folder, place)),
		putRow: (transaction, key, value) => transaction.put('rows', key, value),
		getRow: async (store, { scope }, row) => (await (store as FileStore).rows('rows', scope)).get(row),
	},
);
try {
	for (const [name, body] of bodies) {
		await body().catch((cause: unknown) => {
			throw new Error(name, { cause });
		});
	}
	console.log(`${bodies.length} passed`);
} finally {
	await rm(folder, { recursive: true });
}
