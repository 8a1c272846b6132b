// The page that browser tests drive: the built package on globals, and the programs that tests run in it.
import * as tidemark from 'tidemark';
import * as tidemarkWatch from 'tidemark/watch';
import * as conformance from './conformance.js';
import * as examples from './examples.js';
import * as journal from './journal.js';
import * as loading from './loading.js';
import * as vectors from './vectors.js';

/** What the content-security policy refused since the page was opened. */
const violations: string[] = [];
document.addEventListener('securitypolicyviolation', (event) =>
	violations.push(`${event.effectiveDirective}: ${event.blockedURI}`),
);

const globals = { tidemark, tidemarkWatch, conformance, examples, journal, loading, vectors, violations };
Object.assign(globalThis, globals);
document.title = 'ready';
