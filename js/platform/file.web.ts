/** Pages and edge workers have no files. */
export function readLocalFile(_url: string): Promise<Uint8Array<ArrayBuffer>> {
	return Promise.reject(new Error('there are no local files here'));
}
