import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import vm from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WasmLoadError } from '../../../js/errors/index.js';
import { compileWasm } from '../../../js/platform/wasm.js';

// The smallest module there is: magic and version.
const EMPTY = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

let server: Server;
let base: string;
let requests = 0;

beforeAll(async () => {
	server = createServer((request, response) => {
		requests++;
		const path = request.url?.split('?')[0];
		if (path === '/missing.wasm') response.writeHead(404).end('gone');
		else if (path === '/page.wasm')
			response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
		else if (path === '/html-as.wasm')
			response.writeHead(200, { 'content-type': 'application/wasm' }).end('<!doctype html>');
		else if (path === '/octets.wasm')
			response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(EMPTY);
		else if (path === '/broken.wasm')
			response
				.writeHead(200, { 'content-type': 'application/wasm' })
				.end(Buffer.concat([EMPTY, Buffer.from([9, 9])]));
		else response.writeHead(200, { 'content-type': 'application/wasm' }).end(EMPTY);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

describe('loading wasm', () => {
	it('takes a URL, bytes, a view of bytes, a response, a module, and a promise of one', async () => {
		const padded = new Uint8Array(16);
		padded.set(EMPTY, 4);
		const sources = [
			`${base}/good.wasm`,
			new URL(`${base}/good.wasm`),
			EMPTY.slice().buffer,
			padded.subarray(4, 12),
			await fetch(`${base}/good.wasm`),
			new WebAssembly.Module(EMPTY),
			fetch(`${base}/good.wasm`),
		];
		for (const source of sources) expect(await compileWasm(source)).toBeInstanceOf(WebAssembly.Module);
	});

	it('takes bytes of another frame', async () => {
		const buffer = vm.runInNewContext('new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]).buffer');
		expect(await compileWasm(buffer)).toBeInstanceOf(WebAssembly.Module);
	});

	it.each([
		['nothing', () => null],
		['a number', () => 5],
		['an object', () => ({})],
		['a promise that is rejected', () => Promise.reject(new Error('no'))],
	])('%s in its place is a load error', async (_, make) => {
		await expect(compileWasm(make() as never)).rejects.toBeInstanceOf(WasmLoadError);
	});

	it('an answer that was read already is a load error', async () => {
		const response = await fetch(`${base}/good.wasm`);
		await response.arrayBuffer();
		await expect(compileWasm(response)).rejects.toBeInstanceOf(WasmLoadError);
	});

	it('reads a file URL from the disk', async () => {
		const url = new URL('../../../js/wasm/feed.wasm', import.meta.url);
		expect((await readFile(url)).length).toBeGreaterThan(1000);
		expect(await compileWasm(url)).toBeInstanceOf(WebAssembly.Module);
	});

	it('a wrong MIME type costs no second request', async () => {
		const before = requests;
		expect(await compileWasm(`${base}/octets.wasm`)).toBeInstanceOf(WebAssembly.Module);
		expect(requests - before).toBe(1);
	});

	it.each(['page.wasm', 'html-as.wasm'])(
		'a page in its place (%s) is named, with its first bytes',
		async (name) => {
			await expect(compileWasm(`${base}/${name}`)).rejects.toSatisfy(
				(error) =>
					error instanceof WasmLoadError &&
					error.message.includes(`${base}/${name}`) &&
					error.message.includes('3c 21'),
			);
		},
	);

	it('404, a refused connection, a missing file and broken wasm are load errors that name the place', async () => {
		const sources = [
			`${base}/missing.wasm`,
			'http://127.0.0.1:9/refused.wasm',
			'file:///nowhere/core.wasm',
			`${base}/broken.wasm`,
		];
		for (const source of sources)
			await expect(compileWasm(source)).rejects.toSatisfy(
				(error) => error instanceof WasmLoadError && error.message.includes(source),
			);
	});

	it('keeps a query out of its messages', async () => {
		await expect(compileWasm(`${base}/missing.wasm?signature=secret`)).rejects.toSatisfy(
			(error) => error instanceof WasmLoadError && !error.message.includes('secret'),
		);
	});
});
