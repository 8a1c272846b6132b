// What a page sees of loading: the numbers of the ten records, or the name of the error.
import { Laser } from 'tidemark';
import { Laser as WatchLaser } from 'tidemark/watch';

globalThis.read = async (ws, entry = 'tidemark') => {
	const Class = entry === 'tidemark' ? Laser : WatchLaser;
	const started = performance.now();
	try {
		const laser = await Class.connectWithStream(ws, 'pack', { username: 'iggy', password: 'iggy' });
		const records = await laser.topic('ten').reader().poll();
		await laser.close();
		return { numbers: records.map((record) => record.json().n), ms: performance.now() - started };
	} catch (error) {
		return { error: error.kind ?? error.name, message: error.message, ms: performance.now() - started };
	}
};
document.title = 'ready';
