/** The plane on the real log, inside the real server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { DevServer } from '../../src/index.js';
import { startServer } from '../../src/index.js';
import type { DevPlane } from '../../src/plane/index.js';
import { TestClient } from './client.js';
import type { MemoryLog } from './memory_log.js';

const folder = mkdtempSync(join(tmpdir(), 'plane-server-'));
let server: DevServer | undefined;

afterEach(async () => {
	await server?.close();
	rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<TestClient> {
	server = await startServer({ tcp: '127.0.0.1:0', dataDir: folder });
	expect(server.plane).toBeDefined();
	return new TestClient(server.plane as DevPlane, server.log as unknown as MemoryLog);
}

it('projects the log on disk, goes on after a restart, and begins anew after a purge', async () => {
	let client = await start();
	await server!.log.ensureStream('s');
	await server!.log.ensureTopic('s', 't', 1);
	await client.registerProjection('p', [{ name: 'id', pointer: '/id' }]);
	await client.applyBinding({
		source: { stream: 's', topic: 't' },
		default_projection: 'p',
		index: 'x',
		notify: true,
	});
	await client.publish('s', 't', 0, ['{"id":1}', '{"id":2}']);
	await client.plane.settle();
	expect(await client.rows('x')).toEqual([[1n], [2n]]);
	await server!.close();
	client = await start();
	await client.publish('s', 't', 0, ['{"id":3}']);
	await client.plane.settle();
	expect(await client.rows('x')).toEqual([[1n], [2n], [3n]]);
	expect((await client.changes()).map((c) => [c.from_offset, c.to_offset])).toEqual([
		[0n, 1n],
		[2n, 2n],
	]);
	server!.log.purgeTopic(server!.log.findTopic('s', 't')!);
	await client.publish('s', 't', 0, ['{"id":4}', '{"id":5}', '{"id":6}', '{"id":7}']);
	await client.plane.settle();
	// Rows stay by default; the purged offsets are not mistaken for those before.
	expect((await client.rows('x')).length).toBe(7);
	await client.applyBinding({
		source: { stream: 's', topic: 't' },
		default_projection: 'p',
		index: 'x',
		retention: { kind: 'mirror_log' },
	});
	server!.log.purgeTopic(server!.log.findTopic('s', 't')!);
	await client.publish('s', 't', 0, ['{"id":8}']);
	await client.plane.settle();
	expect(await client.rows('x')).toEqual([[8n]]);
});
