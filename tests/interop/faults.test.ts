import { afterEach, beforeEach, expect, it } from 'vitest';
import { type DevServer, startGateway, startServer } from '../../dev-server/src/index.js';
import { program } from './python.js';

let server: DevServer;
let tcp: string;

beforeEach(async () => {
	server = await startServer({ tcp: '127.0.0.1:0', plane: false });
	tcp = `iggy+tcp://iggy:iggy@${server.addresses.tcp}`;
});
afterEach(() => server.close());

it('the stable client streams through the gateway', async () => {
	const gateway = await startGateway({ ws: '127.0.0.1:0', upstream: server.addresses.tcp! });
	try {
		await program('streaming_apache_iggy', `iggy+ws://iggy:iggy@${gateway.address.slice('ws://'.length)}`);
		expect(gateway.status().framesToUpstream).toBeGreaterThan(15);
	} finally {
		await gateway.close();
	}
});

it('a send that is put off twice is repeated by the stable client and stored once', async () => {
	await server.log.ensureTopic('s', 't', 1);
	await server.faults.apply({ kind: 'status', command: 101, status: 58, times: 2, skip: 1 });
	expect(await program('send_three', tcp)).toEqual(['one [0]', 'two [1]', 'three [2]']);
	expect(server.log.end('s', 't', 0)).toBe(3n);
});

it('a send whose confirmation is lost fails in the stable client, is stored, and the next one works', async () => {
	await server.log.ensureTopic('s', 't', 1);
	await server.faults.apply({ kind: 'drop', command: 101, when: 'after', skip: 1 });
	expect(await program('send_three', tcp)).toEqual(['one [0]', 'two failed', 'three [2]']);
});

it('without a roster the stable client still polls, but commits nothing', async () => {
	await server.log.ensureTopic('s', 't', 1);
	await server.log.append('s', 't', 0, [{ payload: Buffer.from('x') }]);
	await server.faults.apply({ kind: 'status', command: 12, status: 3, times: 100 });
	const [plain, committed] = await program('plain_polls', tcp);
	expect(plain).toBe("plain: [b'x']");
	expect(committed).toBe('auto commit: Invalid command');
});

it('a server of another protocol version is reported by the stable client', async () => {
	await server.close();
	server = await startServer({ tcp: '127.0.0.1:0', plane: false, dialect: 'v12' });
	await expect(program('plain_polls', `iggy+tcp://iggy:iggy@${server.addresses.tcp}`)).rejects.toThrow(
		/version|protocol/i,
	);
});
