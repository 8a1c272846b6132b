import { readFile } from 'node:fs/promises';
import { CancelledError, type LaserError, StorageError } from '../errors/index.js';
import { lockFile } from '../storage/file-lock.js';
import { FileStore } from '../storage/file-store.js';
import { MemoryStore } from '../storage/memory-store.js';
import type { Store } from '../storage/store.js';
import type { TopicRecord } from '../topic/record.js';
import type { DurableWatcher } from '../watch/durable.js';
import type { ChangeRecord } from '../watch/watch-reader.js';
import { type ConnectOptions, Laser } from '../watch.js';
import type { Credentials, TailArguments } from './arguments.js';
import { changeLine, type LineStyle, recordLine } from './lines.js';

export interface TailWorld {
	/** Resolves when there is room for more. Rejects when nobody reads any more. */
	print(text: string): Promise<void>;
	/** What is not a record: connection, gaps, storage. */
	say(text: string): void;
	readonly colours: boolean;
	/** Fires when it is to end. */
	readonly signal: AbortSignal;
}

/** Lines between two writes of the position, in bytes of the batch: little enough to lose little of the place. */
const BATCH_BYTES = 256 * 1024;
const NAME = 'tail';

/**
 * Follows until the signal fires.
 *
 * @throws {StorageError} the position file cannot be used, or another tail uses it
 * @throws {LaserError} no connection, login refused
 */
export async function tail(given: TailArguments, credentials: Credentials, world: TailWorld): Promise<void> {
	const { store, release } = await openStore(given.positionFile);
	try {
		await follow(given, credentials, store, world);
	} finally {
		await release();
	}
}

async function follow(
	given: TailArguments,
	credentials: Credentials,
	store: Store,
	world: TailWorld,
): Promise<void> {
	const { signal } = world;
	let laser: Laser;
	try {
		laser = await Laser.connect(given.url, {
			...loginOf(credentials),
			stream: given.stream,
			// An index without a stream is named as the server names it.
			resourceNaming: given.stream === undefined ? 'bare' : 'stream',
			allowInsecure: given.allowInsecure,
			signal,
		});
	} catch (error) {
		if (signal.aborted) return;
		throw error;
	}
	laser.connection.addEventListener('state', ({ state }) => {
		if (!signal.aborted) world.say(`connection: ${state}`);
	});
	try {
		await drain(given, laser, store, world);
	} catch (error) {
		if (!(signal.aborted && error instanceof CancelledError)) throw error;
	} finally {
		await laser.close();
	}
}

async function drain(given: TailArguments, laser: Laser, store: Store, world: TailWorld): Promise<void> {
	const style: LineStyle = { json: given.json, colours: world.colours };
	const options = { store, from: given.from, byteCap: BATCH_BYTES };
	if (given.topic !== undefined) {
		const watcher = laser.topic(given.topic).durable(NAME, options);
		await print(watcher, (record: TopicRecord) => recordLine(record, style), world);
		return;
	}
	const watch = given.index === undefined ? laser.watch() : laser.watch().index(given.index);
	await print(watch.durable(NAME, options), (change: ChangeRecord) => changeLine(change, style), world);
}

async function print<C, Tx>(
	watcher: DurableWatcher<C, Tx>,
	line: (change: C) => string,
	world: TailWorld,
): Promise<void> {
	watcher.addEventListener('gap', ({ gap }) => {
		const to = gap.firstAvailable === undefined ? '' : `, first available ${gap.firstAvailable}`;
		world.say(`history lost (${gap.reason}): partition ${gap.partitionId}, asked ${gap.asked}${to}`);
	});
	watcher.addEventListener('persistence', ({ persistence, error }) => {
		world.say(`position: ${persistence}${error === undefined ? '' : ` (${error.message})`}`);
	});
	watcher.addEventListener('skipped', ({ malformed, version }) => {
		world.say(`left out: ${malformed} malformed, ${version} of a later version`);
	});
	watcher.addEventListener('state', ({ state }) => {
		if (state === 'waiting_for_source') world.say('waiting: there is no such topic yet');
	});
	for await (const batch of watcher.follow({ signal: world.signal })) {
		// What was read before the signal is printed to the end: the position tells what was printed, no more, no less.
		await world.print(batch.changes.map((change) => `${line(change)}\n`).join(''));
		await batch.commit();
		if (world.signal.aborted) return;
	}
}

function loginOf(credentials: Credentials): Pick<ConnectOptions, 'token' | 'username' | 'password'> {
	if (!('tokenFile' in credentials)) return credentials;
	const { tokenFile } = credentials;
	return { token: async () => (await readFile(tokenFile, 'utf8')).trim() };
}

/** A file that cannot be read, written or had to oneself is refused before anything is printed. */
async function openStore(
	path: string | undefined,
): Promise<{ store: Store; release: () => Promise<void> | void }> {
	if (path === undefined) return { store: new MemoryStore(), release: () => {} };
	const store = new FileStore(path);
	const key = { scope: 'default', name: NAME };
	await store.update(key, () => 'keep');
	const [file] = JSON.parse(await store.place(key)) as [string];
	const release = await lockFile(`${file}.tail`, 0).catch((error: LaserError) => {
		if (!(error instanceof StorageError)) throw error;
		throw new StorageError(
			'tail: another tail uses this position file',
			{ reason: 'blocked' },
			{ cause: error },
		);
	});
	return { store, release };
}
