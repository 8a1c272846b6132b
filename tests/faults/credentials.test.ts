import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DevServer, startServer } from '../../dev-server/src/index.js';
import { type ConnectOptions, Laser } from '../../js/index.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { errorOf, Seen, sleep, until } from './support/world.js';

const PASSWORD = 'hunter2-good';
const WRONG_PASSWORD = 'hunter2-wrong';
const TOKEN = 'tok-5f2c-good';
const WRONG_TOKEN = 'tok-5f2c-wrong';
const INSIDE = 'what only the callback knows';

let server: DevServer;
let proxy: FaultProxy;
let seen: Seen;
let laser: Laser | undefined;

beforeAll(async () => {
	server = await startServer({
		ws: '127.0.0.1:0',
		plane: false,
		users: [{ name: 'ann', password: PASSWORD }],
		tokens: [TOKEN],
	});
});
afterAll(() => server?.close());
beforeEach(async () => {
	seen = new Seen();
	proxy = await FaultProxy.start(server.addresses.ws!);
	laser = undefined;
});
afterEach(async () => {
	await laser?.close();
	await proxy.close();
	expect(seen.text.length).toBeGreaterThan(0);
	seen.expectNone(PASSWORD, WRONG_PASSWORD, TOKEN, WRONG_TOKEN, INSIDE);
});

const connect = async (options: ConnectOptions): Promise<Laser> => {
	laser = seen.listen(await Laser.connect(proxy.ws, options));
	seen.add(laser);
	return laser;
};

describe('wrong credentials', () => {
	it.each([
		['a password', { username: 'ann', password: WRONG_PASSWORD }, 9],
		['a user', { username: 'bob', password: PASSWORD }, 9],
		['a token', { token: WRONG_TOKEN }, 10],
		['a token from a callback', { token: () => WRONG_TOKEN }, 10],
	])(
		'%s: the connect fails at once with what the server said, and dials no more',
		async (_, options, reason) => {
			const began = performance.now();
			const error = seen.add(await errorOf(connect(options)));
			expect(error).toMatchObject({ kind: 'eviction', reason });
			expect(performance.now() - began).toBeLessThan(5_000);
			await sleep(300);
			expect(proxy.accepted).toBe(1);
			expect(proxy.open).toBe(0);
		},
	);

	it('right ones are let in', async () => {
		await connect({ username: 'ann', password: PASSWORD });
		expect(laser!.connection.state).toBe('ready');
		await laser!.close();
		await connect({ token: TOKEN });
		expect(laser!.connection.state).toBe('ready');
	});

	it('a token that is refused later: needs-auth, no dial, until reconnect() asks for another', async () => {
		let token = TOKEN;
		let asked = 0;
		await connect({
			token: () => {
				asked += 1;
				return token;
			},
		});
		token = WRONG_TOKEN;
		proxy.cutAll();
		await until('needs-auth', () => laser!.connection.state === 'needs-auth');
		expect(laser!.connection.error).toMatchObject({ kind: 'eviction', reason: 10 });
		const { accepted } = proxy;
		const before = asked;
		const call = seen.add(await errorOf(laser!.stream('s').ensure()));
		expect(call.kind).toBe('closed');
		await sleep(500);
		expect(proxy.accepted).toBe(accepted);
		expect(asked).toBe(before);
		token = TOKEN;
		laser!.connection.reconnect();
		await until('ready', () => laser!.connection.state === 'ready');
		await laser!.stream('s').ensure();
	});
});

describe('a token callback', () => {
	it('that rejects, throws or never answers is asked again, and let in when it works', async () => {
		const answers: (() => string | Promise<string>)[] = [
			() => Promise.reject(new Error(INSIDE)),
			() => {
				throw new Error(INSIDE);
			},
			() => new Promise<string>(() => {}),
			() => '',
			() => Promise.resolve(TOKEN),
		];
		const signals: AbortSignal[] = [];
		await connect({
			token: ({ signal }) => {
				signals.push(signal);
				return answers.shift()!();
			},
			credentialsTimeoutMs: 300,
		});
		expect(answers.length).toBe(0);
		expect(laser!.connection.state).toBe('ready');
		// The one that never answered was told that nobody waits for it any more.
		expect(signals[2]!.aborted).toBe(true);
	}, 30_000);

	it('that never works ends the connect at the end of the budget, without a word of what it threw', async () => {
		const error = seen.add(
			await errorOf(connect({ token: () => Promise.reject(new Error(INSIDE)), connectTimeoutMs: 800 })),
		);
		expect(['transport', 'timeout']).toContain(error.kind);
		expect(error.message).toContain('credentials');
	});

	it('that answers after its time is not listened to', async () => {
		let late: (token: string) => void = () => {};
		let asked = 0;
		await connect({
			credentialsTimeoutMs: 200,
			token: () => {
				asked += 1;
				if (asked > 1) return TOKEN;
				return new Promise<string>((resolve) => {
					late = resolve;
				});
			},
		});
		late(WRONG_TOKEN);
		await sleep(200);
		expect(laser!.connection.state).toBe('ready');
		expect(asked).toBe(2);
	});
});

describe('addresses that are refused', () => {
	it.each([
		['user info', `ws://ann:${PASSWORD}@127.0.0.1:1/`],
		['a user alone', `wss://${TOKEN}@example.com/`],
		['ws: to another machine', `ws://example.com/?t=${TOKEN}`],
		['a fragment', `wss://example.com/#${TOKEN}`],
	])('%s: ConfigError, without repeating it, and nothing is dialled', async (_, url) => {
		const error = seen.add(await errorOf(Laser.connect(url, { token: TOKEN })));
		expect(error).toMatchObject({ kind: 'config' });
		expect(proxy.accepted).toBe(0);
	});
});
