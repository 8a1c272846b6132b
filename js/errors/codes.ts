/** The managed plane's result codes: name to number. A code newer than this list reads as `unrecognized`. */
export const RESULT_CODES = {
	ok: 0,
	unsupported: 1,
	not_found: 2,
	invalid_argument: 3,
	too_large: 4,
	conflict: 5,
	stale: 6,
	version_skew: 7,
	unauthenticated: 8,
	backend: 9,
	forbidden: 10,
	step_up_required: 11,
	unavailable: 12,
	resource_limit: 13,
	cancelled: 14,
	deadline_exceeded: 15,
	expired_snapshot: 16,
	stale_generation: 17,
	target_unavailable: 18,
	pending: 19,
	backend_unavailable: 20,
} as const;

export type ResultCodeName = keyof typeof RESULT_CODES;

export function isResultCodeName(name: string | undefined): name is ResultCodeName {
	return name !== undefined && Object.hasOwn(RESULT_CODES, name);
}

/** What each typed failure of a managed surface amounts to, by the contract's variant names. */
export const VARIANT_CODES: Readonly<Record<string, ResultCodeName>> = {
	Unsupported: 'unsupported',
	Unauthorized: 'forbidden',
	Forbidden: 'forbidden',
	IndexNotFound: 'not_found',
	ForkNotFound: 'not_found',
	NotFound: 'not_found',
	Backend: 'backend',
	Unavailable: 'unavailable',
	NotLeader: 'unavailable',
	TooLarge: 'too_large',
	Version: 'version_skew',
	Stale: 'stale',
	Cancelled: 'cancelled',
	DeadlineExceeded: 'deadline_exceeded',
	ExpiredSnapshot: 'expired_snapshot',
	StaleGeneration: 'stale_generation',
	TargetUnavailable: 'target_unavailable',
	ResourceLimit: 'resource_limit',
	Invalid: 'invalid_argument',
	InvalidKey: 'invalid_argument',
	InvalidNamespace: 'invalid_argument',
	Conflict: 'conflict',
	VersionConflict: 'conflict',
	LeaseLost: 'conflict',
};

/** Codes of the streaming protocol that the classifiers and idempotent creates look at. */
export const STREAM_CODES = {
	unauthenticated: 40,
	unauthorized: 41,
	invalidCredentials: 42,
	transient: 57,
	notCommitted: 58,
	streamNameExists: 1012,
	streamNotFound: 1009,
	topicNotFound: 2010,
	topicNameExists: 2013,
	partitionNotFound: 3007,
} as const;
