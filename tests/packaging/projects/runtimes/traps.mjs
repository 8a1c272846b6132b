// Importing looks at no global of a page or a server: each of these ends the program when it is looked at.
const names = [
	...[
		'window',
		'document',
		'self',
		'navigator',
		'location',
		'indexedDB',
		'localStorage',
		'sessionStorage',
		'caches',
	],
	...['importScripts', 'fetch', 'WebSocket', 'BroadcastChannel', 'Worker', 'crypto', 'XMLHttpRequest'],
];
const looked = [];
for (const name of names) {
	Object.defineProperty(globalThis, name, {
		configurable: true,
		get() {
			looked.push(name);
			return undefined;
		},
	});
}
for (const entry of process.argv.slice(2)) await import(entry);
console.log(JSON.stringify(looked));
