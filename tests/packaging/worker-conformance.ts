// The promises of every store, run on the storage of a Durable Object.
import {
	type DurableObjectStorageLike,
	DurableObjectStore,
	type DurableObjectTransactionLike,
} from 'tidemark/durable-object';
import { storeConformance } from '../js/storage/conformance.js';
import { equal } from '../js/storage/equal.js';

interface Storage extends DurableObjectStorageLike<DurableObjectTransactionLike> {
	deleteAll(): Promise<void>;
}

interface Env {
	OBJECT: {
		get(id: unknown): { fetch(request: Request): Promise<Response> };
		idFromName(name: string): unknown;
	};
}

function bodies(storage: Storage): [string, () => Promise<void>][] {
	const found: [string, () => Promise<void>][] = [];
	storeConformance<DurableObjectTransactionLike>(
		{ test: (name, body) => void found.push([name, body]), equal },
		{
			open: async () => new DurableObjectStore(storage),
			putRow: (transaction, key, value) => transaction.put(`row:${key}`, value),
			getRow: (_store, _key, row) => storage.get(`row:${row}`),
		},
	);
	return found;
}

export class Conformance {
	constructor(private readonly context: { storage: Storage }) {}

	async fetch(): Promise<Response> {
		const { storage } = this.context;
		const ends: [string, string][] = [];
		for (const [name, body] of bodies(storage)) {
			await storage.deleteAll();
			ends.push([
				name,
				await body().then(
					() => 'passed',
					(error: Error) => error.message,
				),
			]);
		}
		return Response.json(ends);
	}
}

export default {
	fetch: (request: Request, env: Env) => env.OBJECT.get(env.OBJECT.idFromName('one')).fetch(request),
};
