/** What a fault does to one request, and for how many of them. */
export type RequestFault =
	| { kind: 'drop'; when: 'before' | 'after' }
	| { kind: 'delay'; ms: number }
	| { kind: 'silent' }
	| { kind: 'status'; status: number }
	| { kind: 'evict'; reason: number }
	| { kind: 'half'; bytes: number | undefined }
	| { kind: 'text' }
	| { kind: 'missized' };

export type Rule = RequestFault & {
	/** Command code that it waits for; undefined is any command. */
	command: number | undefined;
	/** Requests that pass unharmed first. */
	skip: number;
	times: number;
};

/** The faults that wait for requests. Each request consumes one use of every rule that matches it. */
export class RequestFaults {
	#rules: Rule[] = [];

	add(rule: Rule): void {
		this.#rules.push(rule);
	}

	clear(): void {
		this.#rules = [];
	}

	get pending(): number {
		return this.#rules.length;
	}

	take(code: number): readonly RequestFault[] {
		if (this.#rules.length === 0) return NONE;
		const taken: RequestFault[] = [];
		for (const rule of this.#rules) {
			if (rule.command !== undefined && rule.command !== code) continue;
			if (rule.skip > 0) {
				rule.skip--;
				continue;
			}
			rule.times--;
			taken.push(rule);
		}
		this.#rules = this.#rules.filter((rule) => rule.times > 0);
		return taken;
	}
}

const NONE: readonly RequestFault[] = [];
