// A plain Worker that reads ten records, and a Durable Object that follows them by its own storage.
import { DurableObject } from 'cloudflare:workers';
import { Laser } from 'tidemark';
import { DurableObjectStore } from 'tidemark/durable-object';
import { Laser as WatchLaser } from 'tidemark/watch';

const LOGIN = { username: 'iggy', password: 'iggy' };

export default {
	async fetch(request, env) {
		const { pathname } = new URL(request.url);
		if (pathname === '/read') {
			const laser = await Laser.connectWithStream(env.WS, 'pack', LOGIN);
			const records = await laser.topic('ten').reader().poll();
			await laser.close();
			return Response.json(records.map((record) => record.json().n));
		}
		return env.WATCHER.get(env.WATCHER.idFromName('one')).fetch(request);
	},
};

export class Watcher extends DurableObject {
	async fetch(request) {
		const { pathname, searchParams } = new URL(request.url);
		if (pathname === '/drain') await this.drain(searchParams);
		if (pathname === '/wake') await this.ctx.storage.setAlarm(Date.now() + 50);
		if (pathname === '/forget') await this.ctx.storage.deleteAll();
		const rows = await this.ctx.storage.list({ prefix: 'row:' });
		return Response.json([...rows.values()]);
	}

	/** Until everything was read. Told so, it throws after the writes of a batch, or leaves before its commit. */
	async drain(search) {
		const laser = await WatchLaser.connectWithStream(this.env.WS, 'pack', LOGIN);
		const store = new DurableObjectStore(this.ctx.storage);
		const watcher = laser.topic('ten').durable('ten', { store, byteCap: 1 });
		let left = Number(search.get('batches') ?? 1_000);
		try {
			for await (const batch of watcher) {
				if (left === 0) break;
				left -= 1;
				await batch.commit(async (transaction) => {
					for (const record of batch.changes) {
						const key = `row:${String(record.offset).padStart(20, '0')}`;
						const before = await transaction.get(key);
						await transaction.put(key, { n: record.json().n, times: (before?.times ?? 0) + 1 });
					}
					if (left === 0 && search.has('fail')) throw new Error('the application failed');
				});
			}
		} catch (error) {
			if (error.message !== 'the application failed') throw error;
		} finally {
			await laser.close();
		}
	}

	/** What an object does that nobody asks: it wakes, takes what came, and sleeps. */
	async alarm() {
		await this.drain(new URLSearchParams());
	}
}
