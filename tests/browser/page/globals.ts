// What main.ts puts on the page, for the functions that tests run there.
declare global {
	var tidemark: typeof import('tidemark');
	var tidemarkWatch: typeof import('tidemark/watch');
	var conformance: typeof import('./conformance.js');
	var examples: typeof import('./examples.js');
	var journal: typeof import('./journal.js');
	var loading: typeof import('./loading.js');
	var vectors: typeof import('./vectors.js');
	/** What the content-security policy refused since the page was opened. */
	var violations: readonly string[];
}

export {};
