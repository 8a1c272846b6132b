// What the gateway costs: many clients with small frames through it, beside a few straight to the same upstream.
//   node bench/gateway/gateway.mjs [--connections N] [--rate FRAMES_PER_S] [--seconds S]
// Counts frames that were lost or came out of order, and measures the added median and the growth of memory.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { root } from '../../scripts/setup.mjs';

const FRAME = 320;
const HEADER = 256;
const DIRECT_CONNECTIONS = 20;

function start(...command) {
	const child = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] });
	return new Promise((resolve, reject) => {
		let text = '';
		child.stdout.on('data', (chunk) => {
			text += chunk;
			if (text.includes('\n')) resolve({ child, line: text.split('\n')[0] });
		});
		child.once('exit', (code) => reject(new Error(`${command[0]} ended with ${code}`)));
	});
}

const stop = (child) =>
	new Promise((resolve) => {
		child.once('exit', resolve);
		child.kill('SIGTERM');
	});

function residentBytes(pid) {
	return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** One connection's frames: numbered and timed by their content. */
class Lane {
	sent = 0;
	received = 0;
	reordered = 0;
	/** Round trips in milliseconds, of the measured part. */
	trips = [];

	constructor(send) {
		this.write = send;
	}

	send() {
		const frame = Buffer.alloc(FRAME);
		frame.writeUInt32LE(FRAME, 48);
		frame[60] = 5;
		frame.writeUInt32LE(this.sent++, 168);
		frame.writeDoubleLE(performance.now(), HEADER);
		this.write(frame);
	}

	receive(frame, measuring) {
		if (frame.readUInt32LE(168) !== this.received) this.reordered++;
		this.received++;
		if (measuring) this.trips.push(performance.now() - frame.readDoubleLE(HEADER));
	}
}

function webSocketLane(url, measuring) {
	const socket = new WebSocket(url, { perMessageDeflate: false });
	const lane = new Lane((frame) => socket.send(frame));
	socket.on('message', (frame) => lane.receive(frame, measuring()));
	return new Promise((resolve, reject) => {
		socket.once('open', () => resolve({ lane, close: () => socket.terminate() }));
		socket.once('error', reject);
	});
}

function directLane(port, measuring) {
	const socket = connect({ port, host: '127.0.0.1', noDelay: true });
	const lane = new Lane((frame) => socket.write(frame));
	let pending = Buffer.alloc(0);
	socket.on('data', (chunk) => {
		pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
		for (; pending.length >= FRAME; pending = pending.subarray(FRAME)) lane.receive(pending, measuring());
	});
	return new Promise((resolve, reject) => {
		socket.once('connect', () => resolve({ lane, close: () => socket.destroy() }));
		socket.once('error', reject);
	});
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function percentile(values, share) {
	return Float64Array.from(values).sort()[Math.floor(values.length * share)];
}

export async function gatewayInNode({ connections = 200, rate = 1000, seconds = 60 } = {}) {
	const echo = await start(join(root, 'bench/gateway/echo.mjs'));
	const program = join(root, 'dev-server/dist/cli/main.js');
	const gateway = await start(
		program,
		'gateway',
		'--ws',
		'127.0.0.1:0',
		'--upstream',
		`127.0.0.1:${echo.line}`,
		'--json',
	);
	const lanes = [];
	try {
		let measure = false;
		const measuring = () => measure;
		const url = JSON.parse(gateway.line).ws;
		const through = await Promise.all(
			Array.from({ length: connections }, () => webSocketLane(url, measuring)),
		);
		const direct = await Promise.all(
			Array.from({ length: DIRECT_CONNECTIONS }, () => directLane(Number(echo.line), measuring)),
		);
		lanes.push(...through, ...direct);
		// The direct lanes send as often as each lane through the gateway: the same clock drives both.
		const perLane = rate / connections;
		const began = performance.now();
		const end = began + seconds * 1000;
		const warm = began + Math.min(5000, seconds * 250);
		const memory = [];
		for (let tick = 0; performance.now() < end; tick++) {
			measure = performance.now() >= warm;
			if (measure && tick % 100 === 0) memory.push(residentBytes(gateway.child.pid));
			const due = ((performance.now() - began) / 1000) * perLane;
			// Each lane has a phase of its own, so that frames are spread over the second.
			for (const [index, { lane }] of lanes.entries()) {
				while (lane.sent < due - ((index * 0.618) % 1)) lane.send();
			}
			await sleep(1);
		}
		for (let left = 100; left > 0 && lanes.some(({ lane }) => lane.received < lane.sent); left--)
			await sleep(50);
		const sum = (some, key) => some.reduce((total, { lane }) => total + lane[key], 0);
		const trips = (some) => some.flatMap(({ lane }) => lane.trips);
		const p50 = percentile(trips(through), 0.5);
		const directP50 = percentile(trips(direct), 0.5);
		const result = (metric, value, unit) => ({
			bench: 'gateway',
			runtime: 'node',
			subject: 'gateway',
			metric,
			value,
			unit,
		});
		const round = (value) => Math.round(value * 1000) / 1000;
		return [
			result('frames', sum(through, 'sent'), 'frames'),
			result('frames_lost', sum(through, 'sent') - sum(through, 'received'), 'frames'),
			result('frames_reordered', sum(through, 'reordered'), 'frames'),
			result('round_trip_p50_ms', round(p50), 'ms'),
			result('round_trip_p99_ms', round(percentile(trips(through), 0.99)), 'ms'),
			result('added_p50_ms', round(p50 - directP50), 'ms'),
			result('resident_bytes', memory.at(-1), 'bytes'),
			result(
				'resident_growth_bytes',
				Math.max(...memory.slice(-Math.ceil(memory.length / 4))) - memory[0],
				'bytes',
			),
		];
	} finally {
		for (const { close } of lanes) close();
		await stop(gateway.child);
		await stop(echo.child);
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const number = { type: 'string' };
	const { values } = parseArgs({ options: { connections: number, rate: number, seconds: number } });
	const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
	for (const line of await gatewayInNode(given)) console.log(JSON.stringify(line));
}
