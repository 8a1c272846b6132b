import { Laser } from '../../dist/index.js';
import { Laser as WatchLaser } from '../../dist/watch.js';

export async function firstRecords(url: string): Promise<number> {
	await using laser = await Laser.connect(url, { username: 'ann', password: 'secret', stream: 'shop' });
	using reader = laser.topic('orders').reader();
	return (await reader.poll()).length;
}

export async function isWatchable(url: string): Promise<boolean> {
	await using laser = await WatchLaser.connect(url, { username: 'ann', password: 'secret', stream: 'shop' });
	return laser.connection.state === 'ready';
}
