// The golden-file runner as wasm, in whatever has WebAssembly: the files are put into the module's own memory. No
// import of Node here but the one that reads a folder, so that a page can use `runVectors` too.

/** Names and contents of a folder's files. */
export async function filesOf(folder) {
	const { readdir, readFile } = await import('node:fs/promises');
	const entries = await readdir(folder, { withFileTypes: true });
	return Promise.all(
		entries
			.filter((entry) => entry.isFile())
			.map(async (entry) => [entry.name, await readFile(`${folder}/${entry.name}`)]),
	);
}

/** Runs the vectors of `files` that match the pattern; the runner's exit status. */
export async function runVectors({ create, module, files, only = '*', print }) {
	const runner = await create({
		instantiateWasm(imports, done) {
			WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
			return {};
		},
		print,
		printErr: print,
	});
	runner.FS.mkdir('/vectors');
	for (const [name, content] of files) runner.FS.writeFile(`/vectors/${name}`, content);
	return runner.callMain(['/vectors', only]);
}
