/** Names and contents of a folder's files. */
export function filesOf(folder: string): Promise<[string, Buffer][]>;
export function runVectors(parts: {
	create: unknown;
	module: WebAssembly.Module;
	files: [string, Uint8Array][];
	only?: string;
	print(line: string): void;
}): Promise<number>;
