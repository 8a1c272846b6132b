/** The plane's parts, opened in the order in which they need one another. */
import { createHash, randomBytes } from 'node:crypto';
import { blobValue } from '@duckdb/node-api';
import type { PlaneLog, PlaneOptions } from '../contract.js';
import { Browse } from './browse.js';
import { blob, Catalog } from './catalog.js';
import { Control } from './control.js';
import { CreatedIndexes } from './created_indexes.js';
import { type Database, rows } from './database.js';
import { DestinationReads } from './destination_reads.js';
import { Destinations } from './destinations.js';
import { Faults } from './faults.js';
import { Feed } from './feed.js';
import { type Backend, type Backends, Readiness } from './hello.js';
import { IndexStore } from './index_store.js';
import { LakehouseTargets } from './lakehouse_target.js';
import { Outbox } from './outbox.js';
import { Outcomes } from './outcomes.js';
import { Progress } from './progress.js';
import { Projector } from './projector.js';
import { QueryEngine } from './query_engine.js';
import { OperationalTargets } from './target.js';
import { TokenStore } from './token_store.js';

export async function openParts(log: PlaneLog, database: Database, options: PlaneOptions) {
	const backends = await openBackends(database);
	const catalog = await Catalog.open(database);
	const indexes = await IndexStore.open(database);
	const outcomes = await Outcomes.open(database);
	const progress = await Progress.open(database);
	const destinations = await Destinations.open(database, options.dataDir, backends.lakehouse);
	const feed = new Feed(log, options.feedPartitions, options.streamTenancy);
	await feed.open();
	const outbox = new Outbox(database, feed);
	const projector = new Projector(log, database, catalog, indexes, progress, outbox);
	await projector.start();
	const readiness: Backends<Readiness> = {
		operational: new Readiness(options.readyAfterMs),
		lakehouse: new Readiness(options.readyAfterMs),
	};
	const tokens = new TokenStore(database);
	const queries = new QueryEngine({
		operational: new OperationalTargets(
			database,
			indexes,
			projector,
			tokens,
			backends.operational,
			readiness.operational,
		),
		lakehouse: new LakehouseTargets(destinations, readiness.lakehouse),
	});
	return {
		database,
		backends,
		readiness,
		projector,
		outcomes,
		destinations,
		queries,
		faults: new Faults(readiness, queries, feed),
		created: new CreatedIndexes(database, indexes, feed, outbox, projector),
		control: new Control(catalog, indexes, feed),
		browse: new Browse(catalog, database),
		destinationReads: new DestinationReads(destinations, readiness.lakehouse),
	};
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Identities that stay over restarts. */
async function openBackends(database: Database): Promise<Backends<Backend>> {
	return database.transaction(async (db) => {
		await db.run('CREATE TABLE IF NOT EXISTS plane_backend (resource_id BLOB)');
		const [known] = await rows(db, 'SELECT resource_id FROM plane_backend');
		let resourceId = known === undefined ? undefined : new Uint8Array(blob(known[0]));
		if (resourceId === undefined) {
			resourceId = new Uint8Array(randomBytes(16));
			await db.run('INSERT INTO plane_backend VALUES ($1)', [blobValue(resourceId)]);
		}
		const other = createHash('sha256').update(resourceId).update('lakehouse').digest().subarray(0, 16);
		const at = { generation: 1n, revision: 1n };
		return {
			operational: { resourceId, ...at },
			lakehouse: { resourceId: new Uint8Array(other), ...at },
		};
	});
}
