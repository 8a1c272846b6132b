import type { PartitionMeta, TopicMeta } from './catalog_model.js';
import { partitionFolder } from './folders.js';
import { Partition } from './partition.js';
import { DiskFolder, MemoryFolder, type SegmentFolder } from './segment_folder.js';

export interface PartitionStorage {
	/** Folder of segments; undefined keeps everything in memory. */
	dataDir?: string | undefined;
	fsync?: boolean | undefined;
}

const DISK_SEGMENT = 64 << 20;
const MEMORY_SEGMENT = 8 << 20;

/** The open partitions, one for each entry of the catalog. */
export class OpenPartitions {
	readonly #storage: PartitionStorage;
	readonly #open = new Map<PartitionMeta, Partition>();

	constructor(storage: PartitionStorage) {
		this.#storage = storage;
	}

	get(meta: PartitionMeta): Partition | undefined {
		return this.#open.get(meta);
	}

	open(topic: TopicMeta, meta: PartitionMeta): void {
		const { dataDir, fsync } = this.#storage;
		const cap = dataDir ? DISK_SEGMENT : MEMORY_SEGMENT;
		const folder: SegmentFolder = dataDir
			? new DiskFolder(partitionFolder(dataDir, topic, meta))
			: new MemoryFolder();
		const partition = new Partition(folder, {
			id: meta.id,
			createdAt: meta.createdAt,
			firstOffset: meta.firstOffset,
			start: meta.start,
			segmentBytes: Math.min(cap, Number(topic.segmentBytes)),
			fsync: fsync === true,
		});
		this.#open.set(meta, partition);
	}

	/** Forgets the partition and its records. */
	remove(meta: PartitionMeta): void {
		const partition = this.#open.get(meta);
		this.#open.delete(meta);
		partition?.remove();
	}

	close(): void {
		for (const partition of this.#open.values()) partition.close();
	}
}
