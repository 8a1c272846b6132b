/** Evictions that no dial follows by itself: the reason, and the state that the client then rests in. */
export const LASTING_EVICTIONS = [
	[2, 'idle'],
	[3, 'idle'],
	[4, 'idle'],
	[5, 'idle'],
	[6, 'idle'],
	[9, 'needs-auth'],
	[10, 'needs-auth'],
	[11, 'needs-auth'],
	[15, 'idle'],
] as const;
