const { Laser } = require('tidemark');
const watch = require('tidemark/watch');
const { FileStore } = require('tidemark/file-store');

const options = { username: 'iggy', password: 'iggy' };
const read = async (Class) => {
	const laser = await Class.connectWithStream(process.argv[2], 'pack', options);
	const records = await laser.topic('ten').reader().poll();
	await laser.close();
	return records.map((record) => record.json().n);
};
if (typeof FileStore !== 'function') throw new Error('no FileStore');
Promise.all([read(Laser), read(watch.Laser)]).then((all) => console.log(JSON.stringify(all)));
