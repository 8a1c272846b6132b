import { readLocalFile } from '#platform/file';
import { CspBlockedError, WasmLoadError } from '../errors/index.js';

/** Where the core's wasm comes from. A promise of any of these will do as well. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

const MAGIC = [0x00, 0x61, 0x73, 0x6d];

/**
 * Turns a source into a compiled module.
 *
 * @throws {CspBlockedError} the page's content-security policy forbids compiling wasm
 * @throws {WasmLoadError} everything else: not found, not wasm, refused by the engine
 */
export async function compileWasm(source: WasmSource | PromiseLike<WasmSource>): Promise<WebAssembly.Module> {
	const given = await Promise.resolve(source).catch((cause: unknown) => {
		throw new WasmLoadError('the promise of the wasm was rejected', { cause });
	});
	if (isA(given, 'WebAssembly.Module')) return given as WebAssembly.Module;
	if (ArrayBuffer.isView(given)) {
		return compileBytes(
			new Uint8Array(given.buffer as ArrayBuffer, given.byteOffset, given.byteLength),
			'bytes',
		);
	}
	if (isA(given, 'ArrayBuffer')) return compileBytes(new Uint8Array(given as ArrayBuffer), 'bytes');
	if (isA(given, 'Response')) return compileResponse(given as Response);
	if (typeof given !== 'string' && !isA(given, 'URL')) {
		throw new WasmLoadError('wasm: neither an address, nor bytes, nor a response, nor a compiled module');
	}
	const url = String(given);
	if (url.startsWith('file:')) {
		const bytes = await readLocalFile(url).catch((cause: unknown) => {
			throw new WasmLoadError(`cannot read ${url}`, { cause });
		});
		return compileBytes(bytes, url);
	}
	return compileResponse(await fetchWasm(url), url);
}

async function fetchWasm(url: string): Promise<Response> {
	try {
		return await fetch(url, { credentials: 'same-origin' });
	} catch (cause) {
		throw new WasmLoadError(`cannot fetch ${redact(url)}`, { cause });
	}
}

async function compileResponse(
	response: Response,
	url: string = response.url || 'response',
): Promise<WebAssembly.Module> {
	const name = redact(url);
	if (!response.ok) throw new WasmLoadError(`${name} answered ${response.status}`);
	if (response.bodyUsed) throw new WasmLoadError(`the answer of ${name} was read already`);
	const copy = response.clone();
	// Streaming compiles while the bytes arrive, but insists on the MIME type. Without that, or where there is no
	// streaming at all, the same answer is read as bytes: no second request.
	if (typeof WebAssembly.compileStreaming === 'function' && isWasmType(response)) {
		try {
			const module = await WebAssembly.compileStreaming(response);
			await copy.body?.cancel();
			return module;
		} catch (cause) {
			if (isCspRefusal(cause)) throw new CspBlockedError(blockedMessage(name), { cause });
		}
	}
	const bytes = await copy.arrayBuffer().catch((cause: unknown) => {
		throw new WasmLoadError(`cannot read the answer of ${name}`, { cause });
	});
	return compileBytes(new Uint8Array(bytes), name);
}

async function compileBytes(bytes: Uint8Array<ArrayBuffer>, name: string): Promise<WebAssembly.Module> {
	if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
		const first = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
		throw new WasmLoadError(
			`${name} is not wasm: ${bytes.length} bytes, starting with ${first || 'nothing'}`,
		);
	}
	try {
		return await WebAssembly.compile(bytes);
	} catch (cause) {
		if (isCspRefusal(cause)) throw new CspBlockedError(blockedMessage(name), { cause });
		throw new WasmLoadError(`${name} does not compile`, { cause });
	}
}

/** Engines agree on no error class for a policy refusal, only on naming the policy or the directive. */
export function isCspRefusal(error: unknown): boolean {
	if (!(error instanceof Error)) return false;
	return (
		(error instanceof WebAssembly.CompileError ||
			error.name === 'EvalError' ||
			error.name === 'CompileError') &&
		/content.security.policy|CSP|unsafe-eval|disallowed by embedder/i.test(error.message)
	);
}

function blockedMessage(name: string): string {
	return `${name} may not be compiled here: the content-security policy needs script-src 'wasm-unsafe-eval'`;
}

function isWasmType(response: Response): boolean {
	return (
		(response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() === 'application/wasm'
	);
}

/** By what it says it is, not by `instanceof`: it may come from another frame or a test's own globals. */
function isA(value: unknown, name: string): boolean {
	return Object.prototype.toString.call(value) === `[object ${name}]`;
}

/** A query may carry a signature: it stays out of error messages. */
function redact(url: string): string {
	return url.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
}
