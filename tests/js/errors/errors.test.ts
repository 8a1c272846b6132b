import { describe, expect, it } from 'vitest';
import type { CoreError } from '../../../js/core/contract.js';
import { errorFromCore } from '../../../js/errors/from-core.js';
import * as errors from '../../../js/errors/index.js';

const DOING = { surface: 'kv', operation: 'kv set', stream: 's', topic: 't' };
const make = (error: Partial<CoreError> & Pick<CoreError, 'kind'>) =>
	errorFromCore({ message: 'it failed', ...error }, DOING);

describe('errors of the core', () => {
	it.each([
		['invalid', 'InvalidError', 'invalid'],
		['codec', 'CodecError', 'codec'],
		['protocol', 'ProtocolError', 'protocol'],
		['unsupported', 'UnsupportedError', 'unsupported'],
		['command', 'CommandError', 'command'],
		['eviction', 'EvictionError', 'eviction'],
		['timeout', 'TimeoutError', 'timeout'],
		['transport', 'TransportError', 'transport'],
		['cancelled', 'CancelledError', 'cancelled'],
		['ambiguous', 'AmbiguousMutationError', 'ambiguous-mutation'],
		['publish', 'PublishFailedError', 'publish'],
		['closed', 'ClosedError', 'closed'],
	] as const)('%s becomes %s of kind %s', (kind, name, publicKind) => {
		const error = make({ kind });
		expect(error).toBeInstanceOf(errors.LaserError);
		expect(error.name).toBe(name);
		expect(error.kind).toBe(publicKind);
		expect(error.message).toMatch(/^kv set: it failed/);
	});

	it('tell rule, byte and field', () => {
		const error = make({ kind: 'codec', rule: 'truncated', position: 17, field: 'backends.0.label' });
		expect(error).toMatchObject({
			rule: 'truncated',
			position: 17,
			field: 'backends.0.label',
			surface: 'kv',
		});
		expect(error.message).toBe('kv set: it failed (truncated), at field backends.0.label, byte 17');
	});

	it.each([
		['query', { IndexNotFound: 'orders' }, errors.QueryError, 'IndexNotFound', 'orders'],
		['browse', { Backend: 'x' }, errors.QueryError, 'Backend', 'x'],
		['kv', 'LeaseLost', errors.KvError, 'LeaseLost', undefined],
		[
			'checkpoint',
			{ Conflict: { observedRevision: 4n } },
			errors.CheckpointError,
			'Conflict',
			{ observedRevision: 4n },
		],
	] as const)(
		'a failure of %s is typed, with its variant decoded',
		(surface, detail, Class, variant, content) => {
			const error = make({ kind: 'surface', surface, detail });
			expect(error).toBeInstanceOf(Class);
			expect(error).toMatchObject({ variant, detail: content });
		},
	);
});

describe('classifiers', () => {
	const command = (codeName: string, code: number) => make({ kind: 'command', code, codeName });
	const kv = (detail: unknown) => make({ kind: 'surface', surface: 'kv', detail });

	it('code gives name and number', () => {
		expect(errors.code(command('not_found', 2))).toEqual({ name: 'not_found', number: 2 });
		expect(errors.code(command('TopicIdNotFound', 2010))).toEqual({ name: 'TopicIdNotFound', number: 2010 });
		expect(errors.code(kv({ VersionConflict: { current: 3n } }))).toEqual({ name: 'conflict', number: 5 });
		expect(errors.code(new errors.NoStreamError('x'))).toEqual({ name: 'unsupported', number: 1 });
		expect(errors.code(new errors.InvalidError('x'))).toEqual({ name: 'invalid_argument', number: 3 });
		expect(errors.code(new errors.ConfigError('x'))).toBeUndefined();
		expect(errors.code(new Error('x'))).toBeUndefined();
	});

	it.each([
		[errors.isRetryable, 'a stale answer', kv({ Stale: { required: 1 } }), true],
		[errors.isRetryable, 'an unavailable target', command('target_unavailable', 18), true],
		[errors.isRetryable, 'a lost connection', make({ kind: 'transport' }), true],
		[
			errors.isRetryable,
			'a connection that may not be opened',
			make({ kind: 'transport', retryable: false }),
			false,
		],
		[errors.isRetryable, 'an unknown outcome', make({ kind: 'ambiguous', operationId: 7n }), false],
		[errors.isRetryable, 'a refusal', command('forbidden', 10), false],
		[errors.isRetryable, 'a send that was not admitted', command('NotAdmitted', 58), true],
		[errors.isUnsupported, 'a capability that is off', make({ kind: 'unsupported', surface: 'kv' }), true],
		[errors.isNotFound, 'a missing topic', command('TopicIdNotFound', 2010), true],
		[errors.isNotFound, 'a missing key', kv('NotFound'), true],
		[errors.isNotFound, 'a streaming code that only has the number of one', command('Something', 2), false],
		[errors.isUnavailable, 'no leader', kv('NotLeader'), true],
		[errors.isStale, 'a stale read', kv({ Stale: {} }), true],
		[errors.isVersionSkew, 'another version', kv({ Version: { expected: 2, got: 1 } }), true],
		[errors.isVersionConflict, 'a lost precondition', kv({ VersionConflict: { current: null } }), true],
		[errors.isVersionConflict, 'a lost lease', kv('LeaseLost'), false],
		[errors.isLeaseLost, 'a lost lease', kv('LeaseLost'), true],
		[errors.isAmbiguousMutation, 'an unknown outcome', make({ kind: 'ambiguous' }), true],
		[errors.isPermissionDenied, 'a missing grant', command('forbidden', 10), true],
		[errors.isPermissionDenied, 'a missing permission of the stream', command('Unauthorized', 41), true],
		[errors.isNotLeader, 'no leader', kv('NotLeader'), true],
	] as const)('%o of %s', (classifier, _, error, expected) => {
		expect(classifier(error)).toBe(expected);
		expect(classifier(undefined)).toBe(false);
	});

	it('the vendor’s names are the same classes', () => {
		expect(errors.QueryExecutionError).toBe(errors.QueryError);
		expect(errors.KvExecutionError).toBe(errors.KvError);
	});
});
