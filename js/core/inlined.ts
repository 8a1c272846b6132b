/** Wasm that came along as text, turned into bytes when it is asked for. */
export function inlined(base64: string): () => Uint8Array<ArrayBuffer> {
	return () => {
		const binary = atob(base64);
		const bytes = new Uint8Array(binary.length);
		for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
		return bytes;
	};
}
