// A TCP server that sends back what it gets, in a process of its own. Prints its port; ends with its standard input.
import { createServer } from 'node:net';

const server = createServer({ noDelay: true }, (socket) => {
	socket.on('error', () => socket.destroy());
	socket.pipe(socket);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
