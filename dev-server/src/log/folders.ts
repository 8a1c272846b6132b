import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Catalog } from './catalog.js';
import type { PartitionMeta, TopicMeta } from './catalog_model.js';

export function partitionFolder(dataDir: string, topic: TopicMeta, meta: PartitionMeta): string {
	const { streamId, id } = topic;
	return join(dataDir, 'log', `stream-${streamId}`, `topic-${id}`, partitionName(meta));
}

function partitionName(meta: PartitionMeta): string {
	return `partition-${meta.id}-${meta.epoch}`;
}

/** Removes folders whose deletion was recorded but not finished. */
export function removeStrayFolders(dataDir: string, catalog: Catalog): void {
	const root = join(dataDir, 'log');
	for (const streamName of folders(root)) {
		const stream = catalog.stream(numberOf('stream', streamName));
		for (const topicName of folders(join(root, streamName))) {
			const topic = stream?.topics.get(numberOf('topic', topicName));
			const known = new Set(topic?.partitions.map(partitionName));
			for (const name of folders(join(root, streamName, topicName))) {
				const path = join(root, streamName, topicName, name);
				if (!known.has(name)) fs.rmSync(path, { recursive: true, force: true });
			}
		}
	}
}

function folders(path: string): string[] {
	const entries = fs.readdirSync(path, { withFileTypes: true });
	return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

function numberOf(kind: string, name: string): number {
	return name.startsWith(`${kind}-`) ? Number(name.slice(kind.length + 1)) : -1;
}
