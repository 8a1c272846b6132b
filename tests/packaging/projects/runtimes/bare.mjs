// Evaluates a bundled entry where there is the language and what every runtime has: events, and text of bytes.
import { readFile } from 'node:fs/promises';
import vm from 'node:vm';

for (const file of process.argv.slice(2)) {
	const context = vm.createContext({ Event, EventTarget, TextDecoder, TextEncoder });
	vm.runInContext('delete globalThis.WebAssembly', context);
	const before = Reflect.ownKeys(context).length;
	const module = new vm.SourceTextModule(await readFile(file, 'utf8'), {
		context,
		identifier: file,
		initializeImportMeta: () => {},
	});
	await module.link((name) => {
		throw new Error(`${file} imports ${name}`);
	});
	await module.evaluate();
	if (Reflect.ownKeys(context).length !== before) throw new Error(`${file} leaves a global behind`);
	if (typeof module.namespace.Laser !== 'function') throw new Error(`${file} exports no Laser`);
}
console.log('harmless');
