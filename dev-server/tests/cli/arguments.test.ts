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
});
