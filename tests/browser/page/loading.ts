// What a page sees of loading: the name and text of an error, never the error itself, which cannot leave the page.
import { Laser, type WasmSource } from 'tidemark';
import { Laser as WatchLaser } from 'tidemark/watch';

const LOGIN = { username: 'iggy', password: 'iggy' };

export interface Outcome {
	name: string;
	kind: string | undefined;
	message: string;
}

const entries = { full: Laser, watch: WatchLaser };

/** Connects and lets go again. The name is `connected` when that works. */
export async function connect(
	ws: string,
	wasm?: WasmSource | PromiseLike<WasmSource>,
	entry: keyof typeof entries = 'full',
): Promise<Outcome> {
	// Out of the driver's own evaluation, which policies do not bind.
	await new Promise((resolve) => setTimeout(resolve));
	try {
		const laser = await entries[entry].connect(ws, {
			...LOGIN,
			connectTimeoutMs: 20_000,
			...(wasm === undefined ? {} : { wasm }),
		});
		await laser.close();
		return { name: 'connected', kind: undefined, message: '' };
	} catch (error) {
		const { name, message, kind } = error as Error & { kind?: string };
		return { name, kind, message };
	}
}

/** Does the page's policy refuse to make code of text? */
export async function evalIsRefused(): Promise<boolean> {
	await new Promise((resolve) => setTimeout(resolve));
	try {
		// biome-ignore lint/security/noGlobalEval: what it must not do
		globalThis.eval('1');
		return false;
	} catch (error) {
		return error instanceof EvalError;
	}
}

/** Connects in a module worker. */
export function connectInWorker(ws: string): Promise<Outcome> {
	const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
	return new Promise<Outcome>((resolve, reject) => {
		worker.onmessage = ({ data }) => resolve(data as Outcome);
		worker.onerror = (event) => reject(new Error(event.message));
		worker.postMessage(ws);
	}).finally(() => worker.terminate());
}
