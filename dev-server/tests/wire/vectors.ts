import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Vector {
	name: string;
	command_code: number;
	direction: 'request' | 'reply';
	hex: string;
}

const FOLDER = fileURLToPath(new URL('../../../tests/vectors/iggy/', import.meta.url));

export function vector(name: string): Vector {
	return JSON.parse(readFileSync(`${FOLDER}${name}.json`, 'utf8')) as Vector;
}

export function bytes(name: string): Buffer {
	return Buffer.from(vector(name).hex, 'hex');
}

/** Request names of a recorded session, in order. */
export function session(prefix: string): string[] {
	return readdirSync(FOLDER)
		.filter((file) => file.startsWith(prefix) && file.endsWith('_request.json'))
		.map((file) => file.replace('_request.json', ''))
		.sort();
}

export function hasReply(name: string): boolean {
	return readdirSync(FOLDER).includes(`${name}_reply.json`);
}
