// Comes before the package: notes the memory of every wasm instance, to tell it from the heap.
const memories = [];
const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...args) => {
	const result = await instantiate(...args);
	const { exports } = result.instance ?? result;
	for (const one of Object.values(exports)) if (one instanceof WebAssembly.Memory) memories.push(one);
	return result;
};

export const wasmBytes = () => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
