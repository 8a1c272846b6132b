import { parseArgs } from 'node:util';
import type { Fault } from '../faults/control.js';
import type { DialectChoice, ServerOptions } from '../index.js';

export const HELP = `tidemark-dev start [options]: a server for development and tests

Listeners (port 0 takes a free port; without any, all three on 127.0.0.1:0)
  --ws HOST:PORT           WebSocket
  --tcp HOST:PORT          TCP
  --http HOST:PORT         page, /tidemark-dev.json, POST /faults
  --allow-remote           listen beyond loopback, take any Host
  --origin ORIGIN          a page that may connect; http://localhost:* allows any port (repeatable)
  --host NAME              another allowed Host (repeatable)
  --static DIR             folder of the page
  --json                   print the bound addresses as one JSON line when ready

Storage
  --data DIR|memory        folder that keeps everything (default memory)
  --fsync                  flush to the device before every acknowledgement; without it an acknowledged
                           record survives a killed process, but not a power cut
  --retention-ms MS        expiry of records of topics that set none

Users
  --user NAME:PASSWORD     repeatable; default iggy:iggy
  --token TOKEN            a token of the first user (repeatable)
  --token-file FILE        the same, one a line

Managed plane
  --no-plane               streaming only
  --ready-after MS         how long hello reports starting (default 0)
  --feed-partitions N      partitions of the change feed (default 1)
  --stream-tenancy         one tenant for each stream

Protocol and faults
  --dialect s11|v12|snapshot|auto
                           default s11; with auto the login decides between s11 and v12
  --strict                 leave rule violations unanswered instead of answering status 3
  --heartbeat-ms MS        silent group members are evicted after 1.2 times as long (default 30000)
  --session-ms MS          how long a v12 session can be resumed without a connection (default 600000)
  --deferred-polls N       v12 reads that may wait at once (default 1024)
  --fault JSON             a fault that waits from the start, such as {"kind":"drop","command":100} (repeatable)
`;

export interface Parsed {
	options: ServerOptions;
	json: boolean;
}

export function parseArguments(argv: string[], readFile: (path: string) => string = noFile): Parsed | 'help' {
	const { values, positionals } = parseArgs({
		args: argv,
		allowPositionals: true,
		options: {
			ws: { type: 'string' },
			tcp: { type: 'string' },
			http: { type: 'string' },
			'allow-remote': { type: 'boolean' },
			origin: { type: 'string', multiple: true },
			host: { type: 'string', multiple: true },
			static: { type: 'string' },
			json: { type: 'boolean' },
			data: { type: 'string' },
			fsync: { type: 'boolean' },
			'retention-ms': { type: 'string' },
			user: { type: 'string', multiple: true },
			token: { type: 'string', multiple: true },
			'token-file': { type: 'string' },
			'no-plane': { type: 'boolean' },
			'ready-after': { type: 'string' },
			'feed-partitions': { type: 'string' },
			'stream-tenancy': { type: 'boolean' },
			dialect: { type: 'string' },
			strict: { type: 'boolean' },
			'heartbeat-ms': { type: 'string' },
			'session-ms': { type: 'string' },
			'deferred-polls': { type: 'string' },
			fault: { type: 'string', multiple: true },
			help: { type: 'boolean', short: 'h' },
		},
	});
	if (values.help || positionals[0] === 'help') return 'help';
	if (positionals.length !== 1 || positionals[0] !== 'start')
		throw new Error('usage: tidemark-dev start [options]; see --help');
	const some = values.ws !== undefined || values.tcp !== undefined || values.http !== undefined;
	const listener = (given: string | undefined) => given ?? (some ? undefined : '127.0.0.1:0');
	const fileTokens = values['token-file']
		? readFile(values['token-file'])
				.split('\n')
				.map((line) => line.trim())
		: [];
	// What an unset variable leaves of `--data "$DIR"`: taking it for memory would lose everything without a word.
	for (const name of ['data', 'static'] as const)
		if (values[name] === '') throw new Error(`--${name} is empty`);
	if (values['feed-partitions'] !== undefined && !/^[1-9]\d{0,2}$|^1000$/.test(values['feed-partitions']))
		throw new Error('--feed-partitions must be 1 to 1000');
	const options: ServerOptions = {
		...given('ws', listener(values.ws)),
		...given('tcp', listener(values.tcp)),
		...given('http', listener(values.http)),
		...given('allowRemote', values['allow-remote']),
		...given('origins', values.origin),
		...given('hosts', values.host),
		...given('staticDir', values.static),
		...given('dataDir', values.data === 'memory' ? undefined : values.data),
		...given('fsync', values.fsync),
		...given('retentionMs', whole('retention-ms', values['retention-ms'])),
		...given('users', values.user?.map(user)),
		tokens: [...(values.token ?? []), ...fileTokens].filter((token) => token !== ''),
		...given('plane', values['no-plane'] ? false : undefined),
		...given('readyAfterMs', timer('ready-after', values['ready-after'])),
		...given('feedPartitions', whole('feed-partitions', values['feed-partitions'])),
		...given('streamTenancy', values['stream-tenancy']),
		...given('dialect', dialect(values.dialect)),
		...given('strict', values.strict),
		...given('heartbeatMs', whole('heartbeat-ms', values['heartbeat-ms'])),
		...given('sessionMs', whole('session-ms', values['session-ms'])),
		...given('deferredPolls', whole('deferred-polls', values['deferred-polls'])),
		...given('faults', values.fault?.map(fault)),
	};
	return { options, json: values.json === true };
}

function given<K extends keyof ServerOptions>(
	key: K,
	value: ServerOptions[K] | undefined,
): Pick<ServerOptions, K> {
	return (value === undefined ? {} : { [key]: value }) as Pick<ServerOptions, K>;
}

export function whole(name: string, text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number`);
	if (!Number.isSafeInteger(Number(text))) throw new Error(`--${name} is too large`);
	return Number(text);
}

/** For what a timer takes: beyond 31 bits it would fire at once instead of late. */
function timer(name: string, text: string | undefined): number | undefined {
	const ms = whole(name, text);
	if (ms !== undefined && ms > 2 ** 31 - 1) throw new Error(`--${name} is more than ${2 ** 31 - 1} ms`);
	return ms;
}

function fault(text: string): Fault {
	try {
		return JSON.parse(text) as Fault;
	} catch {
		throw new Error(`--fault is not JSON: ${text}`);
	}
}

function user(text: string): { name: string; password: string } {
	const colon = text.indexOf(':');
	if (colon < 1) throw new Error('--user must be NAME:PASSWORD');
	return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

function dialect(text: string | undefined): DialectChoice | undefined {
	if (text === undefined || text === 's11' || text === 'v12' || text === 'snapshot' || text === 'auto')
		return text;
	throw new Error('--dialect must be s11, v12, snapshot or auto');
}

function noFile(): string {
	throw new Error('--token-file cannot be read here');
}
