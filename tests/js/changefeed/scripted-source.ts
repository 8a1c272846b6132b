import type { Position, RowChange, Source, SourceStream, WatchSet } from '../../../js/changefeed/index.js';
import { HistoryLostError } from '../../../js/errors/index.js';

export function place(number: number): Position {
	const bytes = new Uint8Array(8);
	new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
	return bytes;
}

export function numberOf(position: Position | undefined): number | undefined {
	if (position === undefined) return undefined;
	return Number(new DataView(position.buffer, position.byteOffset, 8).getBigUint64(0));
}

export function change(key: number, more: Partial<RowChange> = {}): RowChange {
	return {
		...{ kind: 'row', op: 'insert', namespace: { collection: 'orders' }, system: false, key, version: 1 },
		...{ after: { key }, fields: [], increment: 0, replace: false, complete: false },
		atMicros: 1_700_000_000_000_000n,
		...more,
	};
}

/** A history in memory: what a consumer is told of it, and when it fails, is the test's. */
export class ScriptedSource implements Source<RowChange> {
	readonly log: (RowChange | 'quiet')[] = [];
	/** The earliest place that can be resumed. */
	first = 0;
	readonly opened: { watched: Required<WatchSet>; from: number | 'earliest' | undefined }[] = [];
	readonly openFailures: unknown[] = [];
	/** While set, opening waits for it. */
	gate: Promise<void> | undefined;
	live = 0;
	mostLive = 0;
	reads = 0;
	#wakers = new Set<() => void>();
	#failure: unknown;

	add(...entries: (RowChange | 'quiet')[]): void {
		this.log.push(...entries);
		this.#wake();
	}

	/** Ends the stream that is open. */
	fail(error: unknown): void {
		this.#failure = error;
		this.#wake();
	}

	async open(
		watched: Required<WatchSet>,
		from: Position | 'earliest' | undefined,
		_signal: AbortSignal,
	): Promise<SourceStream<RowChange>> {
		const asked = from === 'earliest' ? from : numberOf(from);
		this.opened.push({ watched, from: asked });
		await this.gate;
		if (this.openFailures.length > 0) throw this.openFailures.shift();
		let at = asked === 'earliest' ? this.first : (asked ?? this.log.length);
		if (at < this.first) throw new HistoryLostError('scripted');
		this.live += 1;
		this.mostLive = Math.max(this.mostLive, this.live);
		let isClosed = false;
		return {
			next: async (signal) => {
				this.reads += 1;
				for (;;) {
					if (this.#failure !== undefined) {
						const error = this.#failure;
						this.#failure = undefined;
						throw error;
					}
					if (at < this.log.length) {
						const entry = this.log[at++]!;
						return entry === 'quiet' ? undefined : entry;
					}
					await new Promise<void>((resolve) => {
						const wake = (): void => {
							this.#wakers.delete(wake);
							signal.removeEventListener('abort', wake);
							resolve();
						};
						this.#wakers.add(wake);
						signal.addEventListener('abort', wake);
					});
					signal.throwIfAborted();
				}
			},
			position: () => place(at),
			close: () => {
				if (!isClosed) this.live -= 1;
				isClosed = true;
			},
		};
	}

	#wake(): void {
		for (const wake of [...this.#wakers]) wake();
	}
}
