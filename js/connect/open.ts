import { socketOpener } from '#platform/socket';
import type { CoreOptions } from '../core/contract.js';
import type { MakeCore } from '../core/make.js';
import {
	CancelledError,
	ClosedError,
	ConfigError,
	type LaserError,
	TimeoutError,
	TransportError,
} from '../errors/index.js';
import { type Clock, systemClock } from '../platform/clock.js';
import { type Lifecycle, pageLifecycle } from '../platform/lifecycle.js';
import type { OpenSocket } from '../platform/socket.js';
import { cancelled, onAbort, orAborted } from './abort.js';
import { LaserConnection } from './connection.js';
import { Context, type Link } from './context.js';
import { defaults } from './defaults.js';
import { Driver } from './driver.js';
import type { ConnectionStatus } from './driver-types.js';
import { HeldCapabilities } from './held-capabilities.js';
import { type ConnectOptions, checkOptions, type Settings } from './options.js';
import { remember, rememberedFirst } from './remembered.js';

/** What a connection needs of the world. */
export interface World {
	makeCore: MakeCore;
	socketOpener?: () => Promise<OpenSocket>;
	clock?: Clock;
	lifecycle?: Lifecycle;
}

/**
 * Connects, logs in and probes once, all inside the connect budget. A failed probe is not fatal.
 *
 * @throws {ConfigError} bad options
 * @throws {TimeoutError} the server accepts and does not answer
 * @throws {TransportError} no connection came about
 * @throws {CommandError | EvictionError} the login was refused
 */
export async function openContext(
	url: string | URL,
	options: ConnectOptions,
	world: World,
	dedicated = false,
): Promise<Context> {
	const settings = checkOptions(url, options);
	const { signal } = options;
	if (signal?.aborted) throw cancelled(signal, 'connect');
	const clock = world.clock ?? systemClock;
	const endOfBudget = clock.now().mono + settings.connectBudgetMs;
	const [core, openSocket] = await orAborted(
		Promise.all([
			world.makeCore({ ...coreOptions(settings), dedicated }, options.wasm),
			(world.socketOpener ?? socketOpener)(),
		]),
		signal,
		'connect',
	);
	const driver = new Driver({
		core,
		url: settings.url,
		openSocket,
		credentials: settings.credentials,
		clock,
		lifecycle: world.lifecycle ?? pageLifecycle,
	});
	const held = new HeldCapabilities(driver);
	try {
		await untilReady(driver, settings, clock, endOfBudget, signal);
		await firstProbe(held, clock, endOfBudget, signal);
	} catch (error) {
		await driver.close();
		throw error;
	}
	rememberDialects(driver, settings);
	probeEverySession(driver, held);
	const beside: Link['beside'] = async (work) => {
		const other = await openContext(url, { ...options, signal: undefined }, world);
		try {
			return await work(other);
		} finally {
			await other.driver.close();
		}
	};
	const apart: Link['apart'] = async () => {
		const other = await openContext(url, { ...options, signal: undefined }, world, true);
		// Closing the handles that everybody knows of closes this one too.
		const stop = driver.onStatus(({ state }) => state === 'closed' && other.driver.close());
		other.driver.onStatus(({ state }) => state === 'closed' && stop());
		if (driver.closed) await other.driver.close();
		return other;
	};
	const connection = new LaserConnection(driver, held);
	const link: Link = { driver, settings, held, connection, beside, apart };
	return new Context(
		link,
		{
			stream: options.stream,
			naming: options.resourceNaming ?? 'stream',
			opsStream: options.opsStream,
			changesTopic: options.changesTopic,
		},
		undefined,
	);
}

function coreOptions(settings: Settings): CoreOptions {
	const { dialects, requestTimeoutMs, watchdogMs, credentialsTimeoutMs, capabilities } = settings.options;
	return {
		loopback: settings.loopback,
		dialects: rememberedFirst(settings.url, dialects),
		// The budget is for all dials together; one that hangs must not eat it up.
		connectTimeoutMs: Math.min(settings.connectBudgetMs, defaults.connectMs),
		...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
		...(watchdogMs === undefined ? {} : { watchdogMs }),
		...(credentialsTimeoutMs === undefined ? {} : { credentialsTimeoutMs }),
		...(capabilities === undefined ? {} : { capabilities }),
	};
}

function untilReady(
	driver: Driver,
	settings: Settings,
	clock: Clock,
	endOfBudget: number,
	signal: AbortSignal | undefined,
): Promise<void> {
	return new Promise((resolve, reject) => {
		const stops: (() => void)[] = [];
		const end = (error?: LaserError): void => {
			for (const stop of stops) stop();
			if (error === undefined) resolve();
			else reject(error);
		};
		const look = (status: ConnectionStatus): void => {
			if (status.state === 'ready') end();
			else if (isHopeless(status)) end(status.error ?? new ClosedError(`connect: ${status.state}`));
		};
		stops.push(
			driver.onStatus(look),
			onAbort(signal, () => end(cancelled(signal as AbortSignal, 'connect'))),
			clock.after(endOfBudget - clock.now().mono, () => end(outOfTime(driver.status, settings))),
		);
		driver.connect();
	});
}

/** Another dial would change nothing. */
function isHopeless({ state, error }: ConnectionStatus): boolean {
	return (
		state === 'needs-auth' ||
		state === 'closed' ||
		// Given up by itself: the server wants something that this client is not.
		(state === 'idle' && error !== undefined) ||
		error instanceof ConfigError ||
		(error instanceof TransportError && !error.retryable)
	);
}

function outOfTime(status: ConnectionStatus, settings: Settings): LaserError {
	const message = `connect: not connected within ${settings.connectBudgetMs} ms`;
	const { error } = status;
	if (error instanceof TransportError) {
		return new TransportError(`${message}: ${error.message}`, { retryable: true }, { cause: error });
	}
	return new TimeoutError(error === undefined ? message : `${message}: ${error.message}`, { cause: error });
}

async function firstProbe(
	held: HeldCapabilities,
	clock: Clock,
	endOfBudget: number,
	signal: AbortSignal | undefined,
): Promise<void> {
	let stopTimer = (): void => {};
	const budget = new Promise<void>((resolve) => {
		stopTimer = clock.after(endOfBudget - clock.now().mono, resolve);
	});
	try {
		await Promise.race([held.refresh(signal), budget]);
	} catch (error) {
		if (error instanceof CancelledError) throw error;
	} finally {
		stopTimer();
	}
}

/** Another session may be another server, or the same one with more or less to offer. */
function probeEverySession(driver: Driver, held: HeldCapabilities): void {
	let wasReady = driver.status.state === 'ready';
	driver.onStatus(({ state }) => {
		const isReady = state === 'ready';
		if (isReady && !wasReady) held.refresh(undefined).catch(() => {});
		wasReady = isReady;
	});
}

/** A server that was replaced by another version is met in that one's dialect. */
function rememberDialects(driver: Driver, settings: Settings): void {
	const look = ({ state, dialect }: ConnectionStatus): void => {
		if (state === 'ready' && dialect !== undefined) remember(settings.url, dialect);
	};
	look(driver.status);
	driver.onStatus(look);
}
