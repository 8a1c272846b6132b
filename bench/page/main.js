// The page in which drains are measured: the package as an application gets it, and the client that decodes nothing.

import * as tidemark from 'tidemark/watch';
import { nullRate, openFeed, tidemarkDrain } from '../drain/subjects.mjs';
import { wasmBytes } from './wasm-memory.js';

globalThis.subjects = {
	'null-client': (url) => nullRate(WebSocket, url),
	tidemark: (url) => tidemarkDrain(tidemark, url),
};

let laser;
let reader;
let seen = 0;
let disorder = 0;

/** A drain in steps, each record looked at. */
globalThis.watched = {
	async open(url) {
		[laser, reader] = await openFeed(tidemark, url);
		seen = disorder = 0;
	},
	async drainTo(target) {
		while (seen < target) {
			const changes = await reader.poll();
			if (changes.length === 0) break;
			for (const { fromOffset } of changes) if (fromOffset !== BigInt(seen++)) disorder++;
		}
		return { seen, disorder, wasm: wasmBytes() };
	},
	close: () => laser.close(),
};
document.title = 'ready';
