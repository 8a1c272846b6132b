import { getEventListeners } from 'node:events';
import type { Capabilities } from '../../../js/connect/capabilities.js';
import { NO_CAPABILITIES } from '../../../js/connect/capabilities.js';
import type { Context } from '../../../js/connect/context.js';
import { openContext, type World } from '../../../js/connect/open.js';
import type { ConnectOptions } from '../../../js/connect/options.js';
import type { Clock } from '../../../js/platform/clock.js';
import type { Lifecycle, PageListener } from '../../../js/platform/lifecycle.js';
import type { OpenSocket, SocketHandlers } from '../../../js/platform/socket.js';
import { FakeCore } from './fake-core.js';

export class FakeClock implements Clock {
	mono = 0;
	wall = 1_700_000_000_000;
	readonly timers = new Set<{ at: number; callback: () => void }>();

	now() {
		return { mono: this.mono, wall: this.wall };
	}

	after(delayMs: number, callback: () => void): () => void {
		const timer = { at: this.mono + Math.max(delayMs, 0), callback };
		this.timers.add(timer);
		return () => this.timers.delete(timer);
	}

	advance(ms: number): void {
		const end = this.mono + ms;
		for (;;) {
			const due = [...this.timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
			if (due === undefined) break;
			this.timers.delete(due);
			this.wall += due.at - this.mono;
			this.mono = due.at;
			due.callback();
		}
		this.wall += end - this.mono;
		this.mono = end;
	}
}

export class FakePage implements Lifecycle {
	listener: PageListener | undefined;

	listen(listener: PageListener): () => void {
		this.listener = listener;
		return () => {
			this.listener = undefined;
		};
	}
}

export class FakeSockets {
	readonly opened: { url: string; handlers: SocketHandlers; sent: Uint8Array[]; closed: boolean }[] = [];
	refusal: Error | undefined;

	readonly open: OpenSocket = (url, handlers) => {
		if (this.refusal !== undefined) throw this.refusal;
		const one = { url, handlers, sent: [] as Uint8Array[], closed: false };
		this.opened.push(one);
		return {
			send: (frame) => one.sent.push(frame),
			close: () => {
				one.closed = true;
			},
		};
	};

	get live(): number {
		return this.opened.filter((socket) => !socket.closed).length;
	}
}

export const MANAGED: Capabilities = {
	...NO_CAPABILITIES,
	managed: true,
	watch: true,
	hello: 'answered',
};

export interface Connected {
	core: FakeCore;
	context: Context;
	sockets: FakeSockets;
	page: FakePage;
	clock: FakeClock | undefined;
}

/** A connection that stands, over a fake core. */
export async function connected(
	options: ConnectOptions = {},
	capabilities: unknown = MANAGED,
	clock?: FakeClock,
): Promise<Connected> {
	const core = new FakeCore();
	const sockets = new FakeSockets();
	const page = new FakePage();
	core.answer = (name) => (name === 'probe' ? capabilities : undefined);
	const connect = core.connect.bind(core);
	core.connect = (now) => {
		connect(now);
		core.push(
			{ type: 'dial', generation: 1 },
			{ type: 'connection', state: 'ready', attempts: 0, dialect: 's11' },
		);
	};
	const world: World = {
		makeCore: () => Promise.resolve(core),
		socketOpener: () => Promise.resolve(sockets.open),
		lifecycle: page,
		...(clock === undefined ? {} : { clock }),
	};
	const credentials = options.token === undefined ? { username: 'iggy', password: 'iggy' } : {};
	const context = await openContext('ws://localhost:1', { ...credentials, ...options }, world);
	return { core, context, sockets, page, clock };
}

/** Lets every promise that can settle do so. */
export async function settled(): Promise<void> {
	for (let i = 0; i < 10; i++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** A signal that knows who listens to it. */
export function countedSignal(): { signal: AbortSignal; abort: () => void; listeners: () => number } {
	const controller = new AbortController();
	return {
		signal: controller.signal,
		abort: () => controller.abort(),
		listeners: () => getEventListeners(controller.signal, 'abort').length,
	};
}
