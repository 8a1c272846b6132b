import { randomUUID } from 'node:crypto';
import { link, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import process from 'node:process';
import { StorageError } from '../errors/index.js';

/** Who holds a lock. A process number alone is used again after a while, in containers at once. */
interface Holder {
	token: string;
	host: string;
	pid: number;
	/** Kernel ticks from boot to the start of the process, where the system tells. */
	started: string | undefined;
}

const FIRST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 50;
/** Age from which a lock counts as left behind whose holder cannot be looked up: held ones last milliseconds. */
const UNKNOWN_HOLDER_MS = 30_000;
/** What file systems without hard links answer. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
/** A lock to clear a lock to clear a lock: each needs a process killed at one instant. */
const MAX_DEPTH = 4;

/**
 * Takes a lock among processes and returns what gives it back. It is a file beside the one that it guards; what a killed
 * process left behind is cleared away.
 *
 * @throws {StorageError} `blocked`: another process has held it for `timeoutMs`
 */
export function lockFile(path: string, timeoutMs: number): Promise<() => Promise<void>> {
	return acquire(path, performance.now() + timeoutMs, 0);
}

async function acquire(path: string, deadline: number, depth: number): Promise<() => Promise<void>> {
	const holder: Holder = {
		token: randomUUID(),
		host: hostname(),
		pid: process.pid,
		started: await startOf(process.pid),
	};
	for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
		if (await create(path, holder)) return () => unlink(path).catch(ignoreMissing);
		if (depth < MAX_DEPTH && (await clearLeftBehind(path, deadline, depth))) continue;
		if (performance.now() > deadline) {
			throw new StorageError(`commit: another process holds ${path}`, { reason: 'blocked' });
		}
		await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random() / 2)));
	}
}

/** Puts the file there with its content, both at once: a lock without a name is cleared only when it is old. */
async function create(path: string, holder: Holder): Promise<boolean> {
	const own = `${path}.${holder.token}`;
	const text = JSON.stringify(holder);
	await writeFile(own, text, { flag: 'wx', mode: 0o600 });
	try {
		await link(own, path).catch((error: unknown) => {
			if (!NO_LINKS.has(codeOf(error) ?? '')) throw error;
			return writeFile(path, text, { flag: 'wx', mode: 0o600 });
		});
		return true;
	} catch (error) {
		if (codeOf(error) === 'EEXIST') return false;
		throw error;
	} finally {
		await unlink(own).catch(ignoreMissing);
	}
}

/**
 * Removes a lock whose holder is dead. The lock for doing so carries the dead lock's token, so that nobody can remove a
 * lock taken meanwhile: only who holds it removes that one.
 */
async function clearLeftBehind(path: string, deadline: number, depth: number): Promise<boolean> {
	const found = await read(path);
	if (found === 'gone') return true;
	if (!(await isLeftBehind(found, path))) return false;
	const release = await acquire(`${path}.${found?.token ?? 'unknown'}.clear`, deadline, depth + 1);
	try {
		const now = await read(path);
		if (now !== 'gone' && now?.token === found?.token) await unlink(path).catch(ignoreMissing);
	} finally {
		await release();
	}
	return true;
}

async function read(path: string): Promise<Holder | undefined | 'gone'> {
	try {
		const holder = JSON.parse(await readFile(path, 'utf8')) as Partial<Holder> | null;
		// The token becomes part of a file's name.
		return /^[0-9a-f-]{36}$/.test(holder?.token ?? '') ? (holder as Holder) : undefined;
	} catch (error) {
		return codeOf(error) === 'ENOENT' ? 'gone' : undefined;
	}
}

async function isLeftBehind(holder: Holder | undefined, path: string): Promise<boolean> {
	if (holder?.host === hostname() && Number.isInteger(holder.pid)) {
		const started = await startOf(holder.pid);
		if (started !== undefined && holder.started !== undefined) return started !== holder.started;
		return !isRunning(holder.pid);
	}
	const age = await stat(path).then(
		({ mtimeMs }) => Date.now() - mtimeMs,
		() => 0,
	);
	return age > UNKNOWN_HOLDER_MS;
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		// It is there, and somebody else's.
		return codeOf(error) === 'EPERM';
	}
}

/** Linux only. The command's name, in brackets, may hold anything: the fields are counted from its end. */
async function startOf(pid: number): Promise<string | undefined> {
	const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
	return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19];
}

export function codeOf(error: unknown): string | undefined {
	return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function ignoreMissing(error: unknown): void {
	if (codeOf(error) !== 'ENOENT') throw error;
}
