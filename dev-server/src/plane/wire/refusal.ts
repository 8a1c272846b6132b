/**
 * A request that cannot be read (`codec`) or breaks a rule (`invalid`). `rule` is a name of the contract's rule table,
 * `path` says where in the message.
 */
export class Refusal extends Error {
	constructor(
		readonly kind: 'codec' | 'invalid',
		readonly rule: string,
		readonly path: string,
		detail?: string,
	) {
		super(`${rule}${path === '' ? '' : ` at ${path}`}${detail === undefined ? '' : `: ${detail}`}`);
		this.name = 'Refusal';
	}
}

export function invalid(rule: string, path: string, detail?: string): never {
	throw new Refusal('invalid', rule, path, detail);
}

export function codec(rule: string, path: string, detail?: string): never {
	throw new Refusal('codec', rule, path, detail);
}
