import * as fs from 'node:fs';
import { join, resolve } from 'node:path';

/** Folders that this process holds: its own number in a lock may also be left from an earlier life. */
const held = new Set<string>();

/** One process at a time may write a data folder. Gives the release. */
export function lockFolder(folder: string): () => void {
	fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
	const path = join(resolve(folder), 'lock');
	const owner = readOwner(path);
	if (owner !== undefined && (owner === process.pid ? held.has(path) : isAlive(owner))) {
		throw new Error(`${folder} is in use by process ${owner}`);
	}
	fs.writeFileSync(path, `${process.pid}\n`, { mode: 0o600 });
	held.add(path);
	return () => {
		if (held.delete(path)) fs.rmSync(path, { force: true });
	};
}

function readOwner(path: string): number | undefined {
	try {
		const pid = Number(fs.readFileSync(path, 'utf8'));
		return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EPERM';
	}
}
