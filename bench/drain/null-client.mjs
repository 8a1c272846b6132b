// The least that can drain a topic: raw frames out, byte counts in, nothing decoded. It shows how fast the server and
// the socket are, so that a figure near it is the server's and not the client's.

const HEADER = 256;
const encoder = new TextEncoder();

function frame(operation, command, request, session, body) {
	const bytes = new Uint8Array(HEADER + body.length);
	const view = new DataView(bytes.buffer);
	view.setUint32(48, bytes.length, true);
	bytes[60] = 5;
	bytes[128] = 1; // client id: any nonzero value
	view.setBigUint64(168, BigInt(request), true);
	bytes[176] = operation;
	view.setBigUint64(184, session, true);
	view.setUint32(196, operation === 2 ? command : 0, true);
	bytes.set(body, HEADER);
	return bytes;
}

function text(value) {
	const bytes = encoder.encode(value);
	return [bytes.length, ...bytes];
}

const identifier = (name) => [2, ...text(name)];

function loginBody(user, password) {
	return Uint8Array.from([
		0,
		0x2c,
		0,
		0,
		...text('null'),
		...text('0'),
		...text(user),
		...text(password),
		0,
		0,
		0,
		0,
	]);
}

function pollBody(stream, topic, partition, offset, count) {
	const body = new Uint8Array([
		1,
		...identifier('null'),
		...identifier(stream),
		...identifier(topic),
		...[1, 0, 0, 0, 0],
		...[1, 0, 0, 0, 0, 0, 0, 0, 0],
		...[0, 0, 0, 0],
		0,
	]);
	const view = new DataView(body.buffer);
	view.setUint32(body.length - 18, partition, true);
	view.setBigUint64(body.length - 13, offset, true);
	view.setUint32(body.length - 5, count, true);
	return body;
}

/** Drains one partition from offset 0 to its head. Resolves to the number of records that went by. */
export async function drain(
	WebSocketClass,
	url,
	{ stream, topic, partition = 0, batch = 1000, user = 'iggy', password = 'iggy' },
) {
	const socket = new WebSocketClass(url);
	socket.binaryType = 'arraybuffer';
	await new Promise((resolve, reject) => {
		socket.onopen = resolve;
		socket.onerror = () => reject(new Error('the socket did not open'));
	});
	let request = 0;
	const ask = (operation, command, session, body) =>
		new Promise((resolve, reject) => {
			socket.onmessage = (event) => resolve(new DataView(event.data));
			socket.onclose = () => reject(new Error('the connection was closed'));
			socket.send(frame(operation, command, request, session, body));
			request += 1;
		});
	const login = await ask(1, 0, 0n, loginBody(user, password));
	const session = login.getBigUint64(HEADER + 8, true);
	let offset = 0n;
	let records = 0;
	for (;;) {
		const reply = await ask(2, 100, session, pollBody(stream, topic, partition, offset, batch));
		const head = reply.getBigUint64(HEADER + 4, true);
		const count = reply.getUint32(HEADER + 12, true);
		records += count;
		offset += BigInt(count);
		if (count === 0 || offset > head) break;
	}
	socket.onclose = null;
	socket.close();
	return records;
}
