import { createHash } from 'node:crypto';
import { StorageError } from '../errors/index.js';
import { fromJson, toJson } from './json-values.js';
import type { StoredEntry } from './store.js';

/** Everything that one file holds. */
export interface FileContent {
	/** By scope and name, as `entryId` joins them. */
	readonly entries: Map<string, StoredEntry>;
	/** The application's rows: scope, table, key. */
	readonly tables: Map<string, Map<string, Map<string, unknown>>>;
}

const FORMAT = 'tidemark positions';
const VERSION = 1;

export function emptyContent(): FileContent {
	return { entries: new Map(), tables: new Map() };
}

export function entryId(scope: string, name: string): string {
	return JSON.stringify([scope, name]);
}

/** Two lines of JSON: what it is, with a checksum of the second, and the data. */
export function encodeContent(content: FileContent): string {
	const body = JSON.stringify(
		toJson({ entries: [...content.entries.values()].map((entry) => ({ ...entry })), tables: content.tables }),
	);
	return `${JSON.stringify({ format: FORMAT, version: VERSION, sha256: checksum(body) })}\n${body}\n`;
}

/**
 * @throws {StorageError} `corrupted`: not what was written, whoever changed it; `version`: written by a newer Tidemark.
 *   Neither is ever taken for an empty file.
 */
export function decodeContent(text: string, path: string): FileContent {
	try {
		const end = text.indexOf('\n');
		const head = JSON.parse(end < 0 ? text : text.slice(0, end)) as Record<string, unknown> | null;
		if (head?.['format'] !== FORMAT) throw new TypeError('not a file of positions');
		if (typeof head['version'] === 'number' && head['version'] > VERSION) {
			throw new StorageError(`read: ${path} was written by a newer version`, {
				reason: 'version',
				retryable: false,
			});
		}
		const body = text.slice(end + 1, -1);
		if (!text.endsWith('\n') || head['version'] !== VERSION || head['sha256'] !== checksum(body)) {
			throw new TypeError('the checksum does not match');
		}
		const data = fromJson(JSON.parse(body)) as { entries: StoredEntry[]; tables: FileContent['tables'] };
		return {
			entries: new Map(data.entries.map((entry) => [entryId(entry.scope, entry.name), entry])),
			tables: data.tables,
		};
	} catch (cause) {
		if (cause instanceof StorageError) throw cause;
		throw new StorageError(
			`read: ${path} is damaged: move it away to start anew, or restore it`,
			{ reason: 'corrupted', retryable: false },
			{ cause },
		);
	}
}

function checksum(body: string): string {
	return createHash('sha256').update(body).digest('hex');
}
