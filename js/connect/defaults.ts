/**
 * Figures that the C++ core keeps as well: src/iggy/defaults.hpp, from whose names these come (`kWatchdog` is
 * `watchdogMs`). A test compares the two files.
 */
export const defaults = {
	watchdogMs: 15_000,
	/** What the callback for a token may take. */
	credentialsMs: 10_000,
	/** One dial: until the socket is open and the login is answered. */
	connectMs: 10_000,
	requestMs: 30_000,
	hiddenTooLongMs: 30_000,
	/** Resets at one position before a watcher gives up. */
	loopBreakerResets: 3,
	batchByteCap: 8 * 1024 * 1024,
} as const;

/** Figures of the client's driver alone. */
export const driverDefaults = {
	/** `Laser.connect`: all dials and the first probe together. */
	connectBudgetMs: 30_000,
	/** The held capabilities are probed again when they show no managed plane and are this old. */
	unmanagedProbeMs: 1_000,
	/** How long `close()` waits for the goodbye to leave. */
	closeMs: 1_000,
	/** In order of preference. */
	dialects: ['s11', 'v12'],
	/** `follow()` and `readable()`: pause between polls of a feed that is caught up. */
	followMs: 200,
} as const;
