// The page in which drains are measured: the package as an application gets it, and the client that decodes nothing.
import * as tidemark from 'tidemark/watch';
import { nullRate, tidemarkDrain } from '../drain/subjects.mjs';

globalThis.subjects = {
	'null-client': (url) => nullRate(WebSocket, url),
	tidemark: (url) => tidemarkDrain(tidemark, url),
};
document.title = 'ready';
