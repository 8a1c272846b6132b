import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/cli/arguments.js';

const options = (...argv: string[]) => {
	const parsed = parseArguments(['start', ...argv]);
	if (parsed === 'help') throw new Error('help');
	return parsed.options;
};

describe('the command line of the server', () => {
	it.each(['s11', 'v12', 'snapshot', 'auto'])('takes the dialect %s', (dialect) => {
		expect(options('--dialect', dialect).dialect).toBe(dialect);
	});

	it('takes what only the newer protocol has', () => {
		expect(options('--session-ms', '500', '--deferred-polls', '3')).toMatchObject({
			sessionMs: 500,
			deferredPolls: 3,
		});
	});

	it('refuses what it does not know', () => {
		expect(() => options('--dialect', 'v13')).toThrow('--dialect');
		expect(() => options('--session-ms', 'soon')).toThrow('--session-ms');
		expect(() => options('--nonsense')).toThrow();
	});

	it('refuses an empty folder: what an unset variable leaves is not memory', () => {
		expect(() => options('--data', '')).toThrow('--data');
		expect(() => options('--static', '')).toThrow('--static');
		expect(options('--data', 'memory').dataDir).toBeUndefined();
		expect(options('--data', 'kept').dataDir).toBe('kept');
	});

	it('refuses numbers that would not do what they say', () => {
		expect(() => options('--feed-partitions', '0')).toThrow('--feed-partitions');
		expect(() => options('--feed-partitions', '1001')).toThrow('--feed-partitions');
		expect(options('--feed-partitions', '1000').feedPartitions).toBe(1000);
		expect(() => options('--ready-after', '2147483648')).toThrow('--ready-after');
		expect(() => options('--retention-ms', '99999999999999999999')).toThrow('--retention-ms');
	});

	it('names the option whose JSON is broken', () => {
		expect(() => options('--fault', '{bad')).toThrow('--fault');
	});

	it('options come in any order, before the command too', () => {
		const parsed = parseArguments(['--json', '--ws', '127.0.0.1:0', 'start', '--data', 'memory']);
		expect(parsed).toMatchObject({ json: true, options: { ws: '127.0.0.1:0' } });
		expect(parsed === 'help' ? undefined : parsed.options.tcp).toBeUndefined();
		for (const argv of [['--help'], ['start', '-h'], ['help']]) expect(parseArguments(argv)).toBe('help');
		for (const argv of [[], ['stop'], ['start', 'twice']])
			expect(() => parseArguments(argv)).toThrow('usage');
	});
});
