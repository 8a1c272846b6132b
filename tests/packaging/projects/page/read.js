// What a page sees of loading: the numbers of the ten records, or the name of the error.
export function install(classes, options = {}) {
	globalThis.read = async (ws, entry = 'tidemark') => {
		const started = performance.now();
		try {
			const login = { username: 'iggy', password: 'iggy', ...options };
			const laser = await classes[entry].connectWithStream(ws, 'pack', login);
			const records = await laser.topic('ten').reader().poll();
			await laser.close();
			return { numbers: records.map((record) => record.json().n), ms: performance.now() - started };
		} catch (error) {
			return { error: error.kind ?? error.name, message: error.message, ms: performance.now() - started };
		}
	};
	document.title = 'ready';
}
