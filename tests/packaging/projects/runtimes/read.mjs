// Reads the ten records by the entry that is named and prints their numbers.
import { readFile } from 'node:fs/promises';

const [ws, entry = 'tidemark', wasmFile] = process.argv.slice(2);
const { Laser } = await import(entry);
const wasm = wasmFile && (await readFile(new URL(import.meta.resolve(`tidemark/${wasmFile}`))));
const laser = await Laser.connectWithStream(ws, 'pack', {
	username: 'iggy',
	password: 'iggy',
	...(wasm ? { wasm } : {}),
});
const records = await laser.topic('ten').reader().poll();
await laser.close();
console.log(JSON.stringify(records.map((record) => record.json().n)));
