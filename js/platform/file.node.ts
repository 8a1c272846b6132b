import { readFile } from 'node:fs/promises';

/** Reads a `file:` URL. Node, Deno and Bun; `fetch` does not know that scheme there. */
export async function readLocalFile(url: string): Promise<Uint8Array<ArrayBuffer>> {
	const content = await readFile(new URL(url));
	return new Uint8Array(content.buffer as ArrayBuffer, content.byteOffset, content.byteLength);
}
