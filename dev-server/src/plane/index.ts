/** The managed side of the development server: everything from command code 1,000,000 up. */
import { mkdir } from 'node:fs/promises';
import type { PlaneLog, PlaneOptions } from '../contract.js';
import { Database } from './database.js';
import { type DevPlane, ManagedPlane } from './managed_plane.js';
import { openParts } from './parts.js';

export async function createPlane(log: PlaneLog, options: PlaneOptions): Promise<DevPlane> {
	if (options.dataDir !== undefined) await mkdir(options.dataDir, { recursive: true });
	const database = await Database.open(options.dataDir);
	try {
		return new ManagedPlane(await openParts(log, database, options), options);
	} catch (error) {
		await database.close();
		throw error;
	}
}
