/**
 * Follows every bound source partition. One batch is one transaction: rows, position, retention and the change owed to
 * the feed; so a crash at any point neither loses nor doubles a row, and an owed change is sent after the restart.
 */
import type { PlaneLog } from '../contract.js';
import type { Catalog } from './catalog.js';
import { sameSource } from './catalog.js';
import type { Binding, Source } from './control_model.js';
import type { Database } from './database.js';
import { type ExtractedRow, Extractor, type Skip } from './extraction.js';
import type { Change } from './feed.js';
import type { IndexTable } from './index_model.js';
import type { IndexStore } from './index_store.js';
import type { Outbox } from './outbox.js';
import { type Position, type Progress, readPosition, writePosition } from './progress.js';
import { dropRowsFrom, dropSourceRows, retainRows } from './row_retention.js';
import { appendRows, fitColumns } from './row_writer.js';

const BATCH_RECORDS = 8192;
const RETENTION_PERIOD_MS = 1000;
const RETRY_MS = 200;

export interface ProjectorCounts {
	records: number;
	rows: number;
	skipped: Record<Skip, number>;
	failures: number;
	lastFailure: string | undefined;
}

interface Job {
	binding: Binding;
	partitionId: number;
	/** Undefined until read from the database. */
	next: bigint | undefined;
	topicCreatedAt: bigint;
	epoch: bigint;
}

interface Head {
	end: bigint;
	epoch: bigint;
}

export class Projector {
	readonly counts: ProjectorCounts = {
		records: 0,
		rows: 0,
		skipped: { no_projection: 0, projection_not_allowed: 0, no_indexed_field: 0 },
		failures: 0,
		lastFailure: undefined,
	};
	readonly #extractor: Extractor;
	readonly #jobs = new Map<string, Job>();
	#waiters: (() => void)[] = [];
	#dirty = true;
	#running: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;
	#retry: NodeJS.Timeout | undefined;
	#closed = false;

	constructor(
		private readonly log: PlaneLog,
		private readonly database: Database,
		private readonly catalog: Catalog,
		private readonly indexes: IndexStore,
		private readonly progress: Progress,
		private readonly outbox: Outbox,
	) {
		this.#extractor = new Extractor(catalog.projections);
	}

	async start(): Promise<void> {
		await this.outbox.open();
		this.log.onAppend((event) => {
			if (this.catalog.bindings.some((b) => sameSource(b.source, event))) this.wake();
		});
		this.log.onTopicDeleted(
			(stream, topic) => void this.sourceDeleted({ stream, topic }).catch(() => undefined),
		);
		this.#timer = setInterval(() => void this.retain().catch(() => undefined), RETENTION_PERIOD_MS);
		this.#timer.unref();
		this.wake();
	}

	/** Something may be new: records, bindings, projections. */
	wake(): void {
		this.#dirty = true;
		if (this.#running !== undefined || this.#closed) return;
		this.#running = this.run().finally(() => {
			this.#running = undefined;
			this.notify();
			if (this.#dirty) this.wake();
		});
	}

	private notify(): void {
		for (const resolve of this.#waiters.splice(0)) resolve();
	}

	/** Resolves after the next change of any position, or of the set of jobs. */
	private changed(): Promise<void> {
		return new Promise((resolve) => this.#waiters.push(resolve));
	}

	private async run(): Promise<void> {
		while (this.#dirty && !this.#closed) {
			this.#dirty = false;
			await this.guarded(() => this.outbox.publish());
			// One batch each in turn, so that a flooded partition holds up no other.
			for (const job of this.jobs()) {
				if (this.#closed) break;
				await this.guarded(async () => {
					if (await this.step(job)) this.#dirty = true;
				}, job);
				this.notify();
			}
		}
	}

	/** A failure moves no position: the work is tried again after a pause. */
	private async guarded(work: () => Promise<void>, job?: Job): Promise<void> {
		try {
			await work();
		} catch (error) {
			this.counts.failures += 1;
			this.counts.lastFailure = error instanceof Error ? error.message : String(error);
			if (job !== undefined) job.next = undefined;
			if (this.#closed) return;
			clearTimeout(this.#retry);
			this.#retry = setTimeout(() => {
				this.#retry = undefined;
				this.wake();
			}, RETRY_MS);
			this.#retry.unref();
		}
	}

	private jobs(): Job[] {
		const live = new Set<string>();
		for (const binding of this.catalog.bindings) {
			const { stream, topic } = binding.source;
			const partitions = this.log.partitionCount(stream, topic) ?? 0;
			for (let partitionId = 0; partitionId < partitions; partitionId++) {
				const key = jobKey(binding, partitionId);
				live.add(key);
				const job = this.#jobs.get(key);
				if (job === undefined)
					this.#jobs.set(key, { binding, partitionId, next: undefined, topicCreatedAt: 0n, epoch: 0n });
				else job.binding = binding;
			}
		}
		for (const key of this.#jobs.keys()) if (!live.has(key)) this.#jobs.delete(key);
		return [...this.#jobs.values()];
	}

	/** Projects one batch; false when there is nothing to do. */
	private async step(job: Job): Promise<boolean> {
		const { binding, partitionId } = job;
		const { stream, topic } = binding.source;
		const createdAt = this.log.topicCreatedAtMicros(stream, topic);
		if (createdAt === undefined) return false;
		// Held, not skipped: the records wait for their projection.
		if (binding.default_projection !== null && !this.catalog.projections.has(binding.default_projection))
			return false;
		const index = await this.indexes.ensure(binding.index);
		const source = await this.progress.sourceId(this.database, binding.source);
		const epoch = this.epoch(binding.source, partitionId);
		const end = this.log.end(stream, topic, partitionId);
		if (job.next === undefined || job.topicCreatedAt !== createdAt || job.epoch !== epoch || job.next > end) {
			await this.load(job, source, index, { next: end, topicCreatedAt: createdAt, epoch });
		}
		const start = this.log.start(stream, topic, partitionId);
		if (job.next! < start) job.next = start;
		const from = job.next!;
		if (from >= end) return false;
		const records = await this.log.read(stream, topic, partitionId, from, BATCH_RECORDS);
		if (records.length === 0) return false;

		const batch: ExtractedRow[] = [];
		for (const record of records) {
			const row = this.#extractor.extract(binding, record);
			if (typeof row === 'string') this.counts.skipped[row] += 1;
			else batch.push(row);
		}
		await fitColumns(this.indexes, index, batch);
		const last = records[records.length - 1]!.offset;
		const change: Change = {
			index: binding.index,
			partitionId,
			fromOffset: records[0]!.offset,
			toOffset: last,
			rows: batch.length,
			sourceStream: stream,
		};
		const owed = await this.database.transaction(async (db) => {
			await appendRows(db, index, source, partitionId, batch);
			const position = { next: last + 1n, topicCreatedAt: createdAt, epoch };
			await writePosition(db, source, partitionId, index.number, position);
			await retainRows(db, this.log, binding, index, source, BigInt(Date.now()) * 1000n);
			return this.outbox.promise(db, binding.notify ? change : undefined);
		});
		index.nextSequence += BigInt(batch.length);
		job.next = last + 1n;
		this.counts.records += records.length;
		this.counts.rows += batch.length;
		this.outbox.committed(owed);
		await this.guarded(() => this.outbox.publish());
		return true;
	}

	/** Where to go on, given what the log holds now (`now.next` is its end). */
	private async load(job: Job, source: number, index: IndexTable, now: Position): Promise<void> {
		const { binding, partitionId } = job;
		const stored = await this.database.read((db) => readPosition(db, source, partitionId, index.number));
		let next = stored?.next ?? 0n;
		if (stored !== undefined && stored.topicCreatedAt !== now.topicCreatedAt) {
			// Another topic of the same name: its offsets begin anew.
			await this.sourceDeleted(binding.source);
			next = 0n;
		} else if (stored !== undefined && stored.epoch !== now.epoch) {
			if (binding.retention?.kind === 'mirror_log') {
				await this.database.transaction((db) => dropRowsFrom(db, index, source, partitionId, 0n));
			}
			next = 0n;
		} else if (next > now.next) {
			// The log lost its tail, so these rows speak of records that never came to stay.
			next = now.next;
			await this.database.transaction(async (db) => {
				await dropRowsFrom(db, index, source, partitionId, next);
				await writePosition(db, source, partitionId, index.number, { ...now, next });
			});
		}
		job.next = next;
		job.topicCreatedAt = now.topicCreatedAt;
		job.epoch = now.epoch;
	}

	private async sourceDeleted(source: Source): Promise<void> {
		const id = this.progress.knownSourceId(source);
		if (id === undefined) return;
		const bindings = this.catalog.bindings.filter((b) => sameSource(b.source, source));
		await this.database.transaction(async (db) => {
			for (const binding of bindings) {
				const index = this.indexes.get(binding.index);
				if (index === undefined) continue;
				await dropSourceRows(db, binding, index, id);
				await db.run('DELETE FROM plane_progress WHERE source = $1 AND index_number = $2', [
					id,
					index.number,
				]);
			}
		});
	}

	private async retain(): Promise<void> {
		await this.outbox.tidy();
		// A purge makes no sound: a mirror looks for itself.
		if (this.catalog.bindings.some((b) => b.retention?.kind === 'mirror_log')) this.wake();
		for (const binding of this.catalog.bindings) {
			const kind = binding.retention?.kind;
			if (kind !== 'time_to_live' && kind !== 'mirror_log') continue;
			const index = this.indexes.get(binding.index);
			const source = this.progress.knownSourceId(binding.source);
			if (index === undefined || source === undefined || this.#closed) continue;
			const now = BigInt(Date.now()) * 1000n;
			await this.database.transaction((db) => retainRows(db, this.log, binding, index, source, now));
		}
	}

	/** True once everything that the log holds now for these sources is projected; false at the time limit or a stop. */
	async caughtUp(
		wanted: (binding: Binding) => boolean,
		untilMs: number,
		stopped: () => boolean,
	): Promise<boolean> {
		const heads = this.heads(wanted);
		this.wake();
		for (;;) {
			const behind = this.behind(heads);
			if (behind === 0) return true;
			const left = untilMs - Date.now();
			if (left <= 0 || stopped() || this.#closed) return false;
			// Also on a timer: a stop makes no sound.
			const pause = new Promise((resolve) => setTimeout(resolve, Math.min(left, 50)).unref());
			await Promise.race([this.changed(), pause]);
		}
	}

	/** Where the log stands now, by job. */
	private heads(wanted: (binding: Binding) => boolean): Map<string, Head> {
		const heads = new Map<string, Head>();
		for (const binding of this.catalog.bindings.filter(wanted)) {
			const { stream, topic } = binding.source;
			const partitions = this.log.partitionCount(stream, topic) ?? 0;
			for (let p = 0; p < partitions; p++) {
				heads.set(jobKey(binding, p), {
					end: this.log.end(stream, topic, p),
					epoch: this.epoch(binding.source, p),
				});
			}
		}
		return heads;
	}

	private behind(heads: ReadonlyMap<string, Head>): number {
		let count = 0;
		for (const [key, { end, epoch }] of heads) {
			const job = this.#jobs.get(key);
			if (end > 0n && (job?.next === undefined || job.epoch !== epoch || job.next < end)) count += 1;
		}
		return count;
	}

	private epoch({ stream, topic }: Source, partitionId: number): bigint {
		return (
			this.log.partitionEpoch?.(stream, topic, partitionId) ??
			this.log.topicCreatedAtMicros(stream, topic) ??
			0n
		);
	}

	/** The partition of an index that lacks most: how far it is and how far the log is, as offsets. */
	furthestBehind(index: string): { applied: bigint; required: bigint } {
		let worst = { applied: 0n, required: 0n };
		for (const job of this.#jobs.values()) {
			if (job.binding.index !== index) continue;
			const { stream, topic } = job.binding.source;
			const next = job.next ?? 0n;
			const end = this.log.end(stream, topic, job.partitionId);
			if (end - next <= worst.required - worst.applied) continue;
			worst = { applied: next > 0n ? next - 1n : 0n, required: end - 1n };
		}
		return worst;
	}

	/** Waits for everything that is in the log now, as far as it can be projected, its changes in the feed included. */
	async settle(): Promise<void> {
		const heads = this.heads(() => true);
		this.wake();
		while (this.#running !== undefined || this.#retry !== undefined) {
			if (this.behind(heads) === 0 && this.#running === undefined) return;
			if (this.behind(heads) === 0) return this.changed();
			await this.changed();
		}
	}

	async close(): Promise<void> {
		this.#closed = true;
		clearInterval(this.#timer);
		clearTimeout(this.#retry);
		this.#retry = undefined;
		while (this.#running !== undefined) await this.#running;
		await this.outbox.tidy().catch(() => undefined);
		this.notify();
	}
}

function jobKey(binding: Binding, partitionId: number): string {
	return JSON.stringify([binding.source.stream, binding.source.topic, binding.index, partitionId]);
}
