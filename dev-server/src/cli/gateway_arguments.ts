import { parseArgs } from 'node:util';
import type { GatewayOptions } from '../gateway/index.js';
import { whole } from './arguments.js';

export const GATEWAY_HELP = `tidemark-dev gateway --ws HOST:PORT --upstream HOST:PORT [options]: WebSocket in front of a TCP-only server

  --ws HOST:PORT           where clients come in (port 0 takes a free port)
  --upstream HOST:PORT     the server; one connection to it for each client
  --origin ORIGIN          a page that may connect; http://localhost:* allows any port (repeatable)
  --host NAME              another allowed Host (repeatable)
  --allow-remote           listen beyond loopback, take any Host
  --cert FILE --key FILE   PEM files: clients connect by wss
  --upstream-tls           speak TLS to the server
  --ca FILE                PEM of the authority that the server's certificate must come from
  --max-connections N      clients at once (default 1000)
  --max-frame-bytes N      largest frame in either direction (default 67108864)
  --idle-ms MS             a connection without frames for so long is closed (default 300000)
  --connect-timeout-ms MS  how long the server may take to accept a connection (default 10000)
  --json                   print the bound address as one JSON line when ready
`;

export interface ParsedGateway {
	options: GatewayOptions;
	json: boolean;
}

export function parseGatewayArguments(
	argv: string[],
	readFile: (path: string) => Buffer,
): ParsedGateway | 'help' {
	const { values } = parseArgs({
		args: argv,
		options: {
			ws: { type: 'string' },
			upstream: { type: 'string' },
			origin: { type: 'string', multiple: true },
			host: { type: 'string', multiple: true },
			'allow-remote': { type: 'boolean' },
			cert: { type: 'string' },
			key: { type: 'string' },
			'upstream-tls': { type: 'boolean' },
			ca: { type: 'string' },
			'max-connections': { type: 'string' },
			'max-frame-bytes': { type: 'string' },
			'idle-ms': { type: 'string' },
			'connect-timeout-ms': { type: 'string' },
			json: { type: 'boolean' },
			help: { type: 'boolean', short: 'h' },
		},
	});
	if (values.help) return 'help';
	if (values.ws === undefined || values.upstream === undefined) {
		throw new Error('usage: tidemark-dev gateway --ws HOST:PORT --upstream HOST:PORT; see --help');
	}
	if (values.ca !== undefined && !values['upstream-tls']) throw new Error('--ca needs --upstream-tls');
	const options: GatewayOptions = {
		ws: values.ws,
		upstream: values.upstream,
		...given('origins', values.origin),
		...given('hosts', values.host),
		...given('allowRemote', values['allow-remote']),
		...given('cert', values.cert === undefined ? undefined : readFile(values.cert)),
		...given('key', values.key === undefined ? undefined : readFile(values.key)),
		...given('upstreamTls', values.ca === undefined ? values['upstream-tls'] : { ca: readFile(values.ca) }),
		...given('maxConnections', whole('max-connections', values['max-connections'])),
		...given('maxFrameBytes', whole('max-frame-bytes', values['max-frame-bytes'])),
		...given('idleMs', whole('idle-ms', values['idle-ms'])),
		...given('connectTimeoutMs', whole('connect-timeout-ms', values['connect-timeout-ms'])),
	};
	return { options, json: values.json === true };
}

function given<K extends keyof GatewayOptions>(
	key: K,
	value: GatewayOptions[K] | undefined,
): Pick<GatewayOptions, K> {
	return (value === undefined ? {} : { [key]: value }) as Pick<GatewayOptions, K>;
}
