// The page that browser tests drive: the built package on a global, nothing else.
import * as tidemark from 'tidemark';

Object.assign(globalThis, { tidemark });
document.title = 'ready';
