import { parseArgs } from 'node:util';
import { ConfigError } from '../errors/index.js';

export const HELP = `tidemark tail URL [options]: follows the change feed or a topic, a line for each record

What to follow (default: the change feed, all indexes)
  --index INDEX            changes of this index; with --stream, of the index in that stream
  --stream S --topic T     records of a topic

Where to begin (default: now)
  --from-start             at the beginning, where no position is stored
  --position-file FILE     go on where the last run with this file stopped, and keep the place there

Output
  --json                   a line of JSON for each record

Connection
  --allow-insecure         ws: to another machine: everything can be read on the way, the login too

Credentials come from the environment: TIDEMARK_TOKEN, or TIDEMARK_TOKEN_FILE (read anew at every login), or
TIDEMARK_USERNAME and TIDEMARK_PASSWORD.

Lines go to the output, everything else to the error output. Ctrl-C ends it with the position written. A line may come
again after a run that was killed; none is left out.
`;

export type Credentials =
	| { readonly tokenFile: string }
	| { readonly token: string }
	| { readonly username: string; readonly password: string };

export interface TailArguments {
	readonly url: string;
	readonly index: string | undefined;
	readonly stream: string | undefined;
	readonly topic: string | undefined;
	readonly from: 'beginning' | 'now';
	readonly positionFile: string | undefined;
	readonly json: boolean;
	readonly allowInsecure: boolean;
}

/** @throws {ConfigError} what is wrong; never a value, since a login may have got into the wrong place */
export function parseTail(argv: readonly string[]): TailArguments | 'help' {
	let parsed: ReturnType<typeof parse>;
	try {
		parsed = parse(argv);
	} catch (cause) {
		const option = /--?[a-z-]+/.exec(cause instanceof Error ? cause.message : '')?.[0] ?? '';
		throw new ConfigError(`tail: unknown option, or one without its value: ${option}`);
	}
	const { values, positionals } = parsed;
	if (values.help === true) return 'help';
	const [url, ...more] = positionals;
	if (url === undefined || more.length > 0) throw new ConfigError('tail: one address is needed');
	const { index, stream, topic } = values;
	if (index !== undefined && topic !== undefined) throw new ConfigError('tail: --index or --topic, not both');
	if (topic !== undefined && stream === undefined) throw new ConfigError('tail: --topic needs --stream');
	if (stream !== undefined && topic === undefined && index === undefined) {
		throw new ConfigError('tail: --stream needs --topic or --index');
	}
	return {
		url,
		index,
		stream,
		topic,
		from: values['from-start'] === true ? 'beginning' : 'now',
		positionFile: values['position-file'],
		json: values.json === true,
		allowInsecure: values['allow-insecure'] === true,
	};
}

function parse(argv: readonly string[]) {
	return parseArgs({
		args: [...argv],
		allowPositionals: true,
		options: {
			index: { type: 'string' },
			stream: { type: 'string' },
			topic: { type: 'string' },
			'from-start': { type: 'boolean' },
			'position-file': { type: 'string' },
			json: { type: 'boolean' },
			'allow-insecure': { type: 'boolean' },
			help: { type: 'boolean', short: 'h' },
		},
	});
}

/** @throws {ConfigError} there are none */
export function credentialsFrom(environment: Readonly<Record<string, string | undefined>>): Credentials {
	const token = environment['TIDEMARK_TOKEN'];
	const tokenFile = environment['TIDEMARK_TOKEN_FILE'];
	const username = environment['TIDEMARK_USERNAME'];
	const password = environment['TIDEMARK_PASSWORD'];
	if (token) return { token };
	if (tokenFile) return { tokenFile };
	if (username && password !== undefined) return { username, password };
	throw new ConfigError(
		'tail: set TIDEMARK_TOKEN, or TIDEMARK_TOKEN_FILE, or TIDEMARK_USERNAME and TIDEMARK_PASSWORD',
	);
}
