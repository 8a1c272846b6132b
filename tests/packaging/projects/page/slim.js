// For bundlers that know wasm files by a loader and not by `new URL`.
import wasm from 'tidemark/full.wasm';
import { Laser } from 'tidemark/slim';
import { install } from './read.js';

install({ tidemark: Laser }, { wasm: new URL(wasm, import.meta.url) });
