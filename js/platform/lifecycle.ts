/** What happens to a page, as far as a connection or a watcher has to act on it. */
export interface PageListener {
	/** Became visible, got the focus, came back online: whatever was put off is due now. */
	wake(cause: 'visible' | 'online' | 'focus' | 'pageshow'): void;
	/** The page is going to be frozen or put away; nothing runs after this call. */
	suspend(reason: 'pagehide' | 'freeze'): void;
	/** It is back. */
	restore(reason: 'pagehide' | 'freeze'): void;
}

export interface Lifecycle {
	/** Returns the function that stops listening. */
	listen(listener: PageListener): () => void;
}

/** Listens to the page, if this is one; workers tell about the network only; elsewhere nothing is ever called. */
export const pageLifecycle: Lifecycle = {
	listen(listener) {
		const stops: (() => void)[] = [];
		const on = (target: EventTarget, name: string, handle: (event: Event) => void): void => {
			target.addEventListener(name, handle);
			stops.push(() => target.removeEventListener(name, handle));
		};
		const isPage = typeof document === 'object' && typeof window === 'object';
		if (isPage) {
			on(document, 'visibilitychange', () => {
				if (document.visibilityState === 'visible') listener.wake('visible');
			});
			on(document, 'freeze', () => listener.suspend('freeze'));
			on(document, 'resume', () => listener.restore('freeze'));
			on(window, 'focus', () => listener.wake('focus'));
			// An open socket makes some browsers refuse to keep the page, others cut it without an event.
			on(window, 'pagehide', () => listener.suspend('pagehide'));
			on(window, 'pageshow', (event) => {
				if (!(event as PageTransitionEvent).persisted) return;
				listener.restore('pagehide');
				listener.wake('pageshow');
			});
		}
		if (isPage || 'ononline' in globalThis) on(globalThis, 'online', () => listener.wake('online'));
		return () => {
			for (const stop of stops.splice(0)) stop();
		};
	},
};
