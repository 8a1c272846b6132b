import type { Dialect } from '../core/contract.js';
import { ConfigError } from '../errors/index.js';
import type { WasmSource } from '../platform/wasm.js';
import type { CapabilityOverride } from './capabilities.js';
import { driverDefaults } from './defaults.js';
import type { CredentialsSource } from './driver-types.js';

const MAX_CREDENTIAL_BYTES = 255;

/** Asked at every login. The signal fires when the answer comes too late to be used. */
export type TokenCallback = (context: { signal: AbortSignal }) => string | Promise<string>;

export type ResourceNaming = 'stream' | 'bare';

export interface ConnectOptions {
	/** User name and password, or a token. */
	username?: string | undefined;
	password?: string | undefined;
	/** A personal access token, or what gets one: a callback is asked anew at every login. */
	token?: string | TokenCallback | undefined;
	/** The default stream of `laser.topic(name)` and of managed names. */
	stream?: string | undefined;
	/**
	 * Whose data is stored on this machine: the application's user key. Required together with a token callback where
	 * positions are stored in IndexedDB, so that the next user never sees the last one's rows.
	 */
	scope?: string | undefined;
	/** Allows `ws:` to a host other than this machine: everything, credentials included, is then readable on the way. */
	allowInsecure?: boolean | undefined;
	/** Capabilities taken for granted; what the server announces is added. */
	capabilities?: CapabilityOverride | undefined;
	/** For all dials of `connect` and the first probe together, ms. Default 30,000. */
	connectTimeoutMs?: number | undefined;
	/** Of one request, ms. Default 30,000. */
	requestTimeoutMs?: number | undefined;
	/** Silence after which a connection counts as dead, ms. Default 15,000. */
	watchdogMs?: number | undefined;
	/** What the token callback may take, ms. Default 10,000. */
	credentialsTimeoutMs?: number | undefined;
	/** Of one publish attempt, ms. Default 60,000. */
	publishTimeoutMs?: number | undefined;
	/** Default 3. */
	publishMaxRetries?: number | undefined;
	/** Doubles up to 30 s. Default 250 ms. */
	publishRetryBackoffMs?: number | undefined;
	/** Stream and topics of the managed plane, where they are not the announced ones. */
	opsStream?: string | undefined;
	controlTopic?: string | undefined;
	deadLetterTopic?: string | undefined;
	changesTopic?: string | undefined;
	/** `stream` (default) scopes managed names to the default stream, `bare` sends them as they are. */
	resourceNaming?: ResourceNaming | undefined;
	/**
	 * Dialects in order of preference. Default `["s11", "v12"]`. The one that a server took is tried first the next time.
	 * `"snapshot"` has the version number of `"s11"`: name it for servers of that build, in its place.
	 */
	dialects?: readonly Dialect[] | undefined;
	/** Where the wasm comes from, if not from beside this package's JavaScript. */
	wasm?: WasmSource | PromiseLike<WasmSource> | undefined;
	/** Gives up connecting. */
	signal?: AbortSignal | undefined;
}

/** Options as they are after every check. */
export interface Settings {
	readonly url: string;
	readonly loopback: boolean;
	readonly credentials: CredentialsSource;
	readonly tokenCallback: boolean;
	readonly scope: string | undefined;
	readonly connectBudgetMs: number;
	readonly publish: {
		readonly timeoutMs: number | undefined;
		readonly maxRetries: number | undefined;
		readonly retryBackoffMs: number | undefined;
	};
	/** Without credentials: handles hold this, and handles get printed and logged. */
	readonly options: Omit<ConnectOptions, 'username' | 'password' | 'token'>;
}

/** @throws {ConfigError} names the option, never its value */
export function checkOptions(url: string | URL, options: ConnectOptions): Settings {
	if (typeof options !== 'object' || options === null) throw new ConfigError('options: not an object');
	const address = checkUrl(url, options.allowInsecure === true);
	for (const name of [
		'connectTimeoutMs',
		'requestTimeoutMs',
		'watchdogMs',
		'credentialsTimeoutMs',
		'publishTimeoutMs',
	] as const) {
		checkNumber(options[name], name, (value) => value > 0);
	}
	checkNumber(
		options.publishMaxRetries,
		'publishMaxRetries',
		(value) => Number.isInteger(value) && value >= 0,
	);
	checkNumber(options.publishRetryBackoffMs, 'publishRetryBackoffMs', (value) => value >= 0);
	checkName(options.scope, 'scope');
	checkView(options);
	checkDialects(options.dialects);
	if (options.signal !== undefined && typeof options.signal?.addEventListener !== 'function') {
		throw new ConfigError('signal: not an AbortSignal');
	}
	const { username: _username, password: _password, token: _token, ...rest } = options;
	return {
		url: address.href,
		loopback: isLoopback(address.hostname),
		credentials: checkCredentials(options),
		tokenCallback: typeof options.token === 'function',
		scope: options.scope,
		connectBudgetMs: options.connectTimeoutMs ?? driverDefaults.connectBudgetMs,
		publish: {
			timeoutMs: options.publishTimeoutMs,
			maxRetries: options.publishMaxRetries,
			retryBackoffMs: options.publishRetryBackoffMs,
		},
		options: rest,
	};
}

/** @throws {ConfigError} names the option */
export function checkView(
	options: Pick<
		ConnectOptions,
		'stream' | 'opsStream' | 'controlTopic' | 'deadLetterTopic' | 'changesTopic' | 'resourceNaming'
	>,
): void {
	for (const name of ['stream', 'opsStream', 'controlTopic', 'deadLetterTopic', 'changesTopic'] as const) {
		checkName(options[name], name);
	}
	if (options.stream?.includes('/')) throw new ConfigError('stream: a stream name holds no "/"');
	const naming = options.resourceNaming;
	if (naming !== undefined && naming !== 'stream' && naming !== 'bare') {
		throw new ConfigError('resourceNaming is "stream" or "bare"');
	}
}

function checkUrl(url: string | URL, allowInsecure: boolean): URL {
	const address = URL.canParse(url) ? new URL(url) : undefined;
	// None of these messages repeats the address: it may hold what should not be in a log.
	if (address === undefined) throw new ConfigError('url: not an address');
	if (address.protocol !== 'ws:' && address.protocol !== 'wss:') {
		throw new ConfigError(`url: ${address.protocol} is not ws: or wss:`);
	}
	if (address.username !== '' || address.password !== '') {
		throw new ConfigError('url: user name and password belong into the options, addresses end up in logs');
	}
	if (address.hash !== '') throw new ConfigError('url: a WebSocket address has no #fragment');
	if (address.protocol === 'ws:' && !isLoopback(address.hostname) && !allowInsecure) {
		throw new ConfigError(
			'url: ws: to another machine sends credentials in the clear; use wss:, or allowInsecure if you must',
		);
	}
	return address;
}

/** Hosts that cannot be another machine. `hostname` comes from URL, so IPv4 is in dotted form and IPv6 in brackets. */
export function isLoopback(hostname: string): boolean {
	return (
		hostname === 'localhost' ||
		hostname.endsWith('.localhost') ||
		hostname === '[::1]' ||
		/^127\.\d+\.\d+\.\d+$/.test(hostname)
	);
}

function checkCredentials(options: ConnectOptions): CredentialsSource {
	const { username, password, token } = options;
	if (token !== undefined) {
		if (username !== undefined || password !== undefined) {
			throw new ConfigError('credentials: a token, or a user name and password, not both');
		}
		if (typeof token === 'function') {
			return async (signal) => ({ token: checkToken(await token({ signal })) });
		}
		const checked = { token: checkToken(token) };
		return () => checked;
	}
	if (typeof username !== 'string' || typeof password !== 'string' || username === '') {
		throw new ConfigError('credentials: a token, or a user name and a password, is needed');
	}
	checkLength(username, 'username');
	checkLength(password, 'password');
	return () => ({ username, password });
}

function checkDialects(dialects: unknown): void {
	if (dialects === undefined) return;
	if (!Array.isArray(dialects) || dialects.length === 0)
		throw new ConfigError('dialects must name at least one');
	if (!dialects.every((one) => one === 's11' || one === 'v12' || one === 'snapshot'))
		throw new ConfigError('dialects are "s11", "v12" and "snapshot"');
}

function checkToken(token: unknown): string {
	if (typeof token !== 'string' || token === '') throw new ConfigError('token: not a text, or empty');
	return checkLength(token, 'token');
}

/** The wire has one byte for the length of each. */
function checkLength(text: string, name: string): string {
	if (new TextEncoder().encode(text).length > MAX_CREDENTIAL_BYTES) {
		throw new ConfigError(`${name}: longer than ${MAX_CREDENTIAL_BYTES} bytes`);
	}
	return text;
}

function checkNumber(value: number | undefined, name: string, isGood: (value: number) => boolean): void {
	if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && isGood(value))) {
		throw new ConfigError(`${name}: out of range`);
	}
}

function checkName(value: string | undefined, name: string): void {
	if (value !== undefined && (typeof value !== 'string' || value === '')) {
		throw new ConfigError(`${name}: must not be empty`);
	}
}
