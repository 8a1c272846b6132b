/** Numbers of the wire: commands, operations, statuses, evictions. */

export const Code = {
	ping: 1,
	getStats: 10,
	getClusterMetadata: 12,
	describeOptions: 13,
	bindSession: 15,
	updateResource: 16,
	getMe: 20,
	getClient: 21,
	getClients: 22,
	logout: 39,
	login: 40,
	createToken: 42,
	deleteToken: 43,
	loginWithToken: 45,
	poll: 100,
	send: 101,
	partitionRoute: 105,
	deferredPoll: 106,
	cancelDeferred: 108,
	fetch: 109,
	getOffset: 120,
	storeOffset: 121,
	deleteOffset: 122,
	getStream: 200,
	getStreams: 201,
	createStream: 202,
	deleteStream: 203,
	updateStream: 204,
	purgeStream: 205,
	getTopic: 300,
	getTopics: 301,
	createTopic: 302,
	deleteTopic: 303,
	updateTopic: 304,
	purgeTopic: 305,
	createPartitions: 402,
	deletePartitions: 403,
	deleteSegments: 503,
	getGroup: 600,
	getGroups: 601,
	createGroup: 602,
	deleteGroup: 603,
	joinGroup: 604,
	leaveGroup: 605,
	syncGroup: 606,
} as const;

export const FIRST_MANAGED_CODE = 1_000_000;

export const Operation = {
	register: 1,
	nonReplicated: 2,
	logout: 3,
	send: 160,
	storeOffset: 161,
	deleteOffset: 162,
} as const;

/** Operations that change the catalog, by the command they stand for. */
export const METADATA_OPERATIONS = new Map<number, number>([
	[128, Code.createStream],
	[129, Code.updateStream],
	[130, Code.deleteStream],
	[131, Code.purgeStream],
	[132, Code.createTopic],
	[133, Code.updateTopic],
	[134, Code.deleteTopic],
	[135, Code.purgeTopic],
	[136, Code.createPartitions],
	[137, Code.deletePartitions],
	[138, Code.deleteSegments],
	[139, Code.createGroup],
	[140, Code.deleteGroup],
	[141, 32],
	[142, 35],
	[143, 33],
	[144, 36],
	[145, 37],
	[146, Code.createToken],
	[147, Code.deleteToken],
	[148, Code.joinGroup],
	[149, Code.leaveGroup],
]);

/** The one update command of the newer protocol, and what it replaced. */
export const UPDATE_RESOURCE = 150;

export const PARTITION_OPERATIONS = new Map<number, number>([
	[Operation.send, Code.send],
	[Operation.storeOffset, Code.storeOffset],
	[Operation.deleteOffset, Code.deleteOffset],
]);

/** Commands that have an operation of their own and are refused as NonReplicated. */
export const REPLICATED_CODES = new Set<number>([
	...METADATA_OPERATIONS.values(),
	...PARTITION_OPERATIONS.values(),
	Code.login,
	Code.loginWithToken,
	Code.logout,
]);

/** A committed reply carries the operation as it was prepared. */
export const PREPARED_OPERATION = new Map<number, number>([
	[132, 64],
	[136, 65],
	[138, 68],
]);

export const Status = {
	invalidCommand: 3,
	invalidFormat: 4,
	featureUnavailable: 5,
	resourceNotFound: 20,
	unauthenticated: 40,
	invalidTokenName: 50,
	tokenExists: 51,
	tokenLimit: 52,
	notCommitted: 57,
	notAccepted: 58,
	alreadyApplied: 59,
	requestTooOld: 85,
	historyUnavailable: 87,
	deferredCapacity: 90,
	sequenceGap: 92,
	newerEpoch: 93,
	partitionRequired: 95,
	streamNotFound: 1009,
	streamNameExists: 1012,
	topicNotFound: 2010,
	topicNameExists: 2013,
	tooManyPartitions: 2015,
	badPartitionCount: 2019,
	partitionsLimit: 2022,
	resizeDisabled: 2023,
	partitionNotFound: 3007,
	offsetNotFound: 3021,
	tooManyOffsets: 3024,
	invalidMessageChecksum: 4027,
	invalidBatchChecksum: 4039,
	unsupportedOption: 4041,
	invalidOption: 4042,
	optionsTooLarge: 4043,
	invalidOffset: 4100,
	groupNotFound: 5000,
	groupNameNotFound: 5003,
	groupNameExists: 5004,
	notGroupMember: 5006,
	partitionNotOwned: 5009,
} as const;

export const Eviction = {
	noSession: 1,
	sessionTooLow: 7,
	invalidCredentials: 9,
	invalidToken: 10,
	sessionError: 12,
	staleClient: 13,
	incompatibleProtocol: 14,
	malformedLogin: 15,
} as const;

/** The refusal of a request: travels as status, or as a result code when `committed`. */
export class Refusal extends Error {
	constructor(
		readonly code: number,
		readonly committed = false,
	) {
		super(`status ${code}`);
	}
}

/** A business refusal of a metadata write: it is committed and reported in the result section. */
export function rejected(code: number): Refusal {
	return new Refusal(code, true);
}
