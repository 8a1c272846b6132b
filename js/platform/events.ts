type Listener<E extends Event> = ((event: E) => void) | { handleEvent(event: E): void };

/** An EventTarget that knows its events: `Events` maps names to event classes. */
export class TypedEventTarget<Events extends { [K in keyof Events]: Event }> extends EventTarget {
	override addEventListener<K extends keyof Events & string>(
		type: K,
		listener: Listener<Events[K]> | null,
		options?: AddEventListenerOptions | boolean,
	): void {
		super.addEventListener(type, listener as EventListener | null, options);
	}

	override removeEventListener<K extends keyof Events & string>(
		type: K,
		listener: Listener<Events[K]> | null,
		options?: EventListenerOptions | boolean,
	): void {
		super.removeEventListener(type, listener as EventListener | null, options);
	}
}
