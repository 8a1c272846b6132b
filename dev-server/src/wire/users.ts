import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Log } from '../log/log.js';
import { rejected, Status } from './codes.js';

export interface UserOptions {
	name: string;
	password: string;
}

const TOKENS_PER_USER = 100;

function digest(text: string): Buffer {
	return createHash('sha256').update(text).digest();
}

/** Who may log in. Passwords come from the command line and stay in memory; ids and tokens are kept in the log. */
export class Users {
	readonly #log: Log;
	readonly #passwords = new Map<string, Buffer>();
	readonly #fixedTokens: { digest: Buffer; userId: number }[] = [];

	constructor(log: Log, users: readonly UserOptions[], tokens: readonly string[]) {
		this.#log = log;
		for (const { name, password } of users) {
			if (!log.catalog.users.has(name)) log.record({ on: 'user+', id: log.catalog.nextUserId, name });
			this.#passwords.set(name, digest(password));
		}
		const first = log.catalog.users.get(users[0]?.name ?? '') ?? 0;
		for (const token of tokens) this.#fixedTokens.push({ digest: digest(token), userId: first });
	}

	/** The user's id, or undefined when name or password are wrong. */
	byPassword(name: string, password: string): number | undefined {
		const nameLength = Buffer.byteLength(name);
		const length = Buffer.byteLength(password);
		if (nameLength < 3 || nameLength > 50 || length < 3 || length > 100) return undefined;
		const expected = this.#passwords.get(name);
		// Unknown names cost the same time as known ones.
		const equal = timingSafeEqual(digest(password), expected ?? digest(''));
		return expected && equal ? this.#log.catalog.users.get(name) : undefined;
	}

	byToken(token: string): number | undefined {
		const given = digest(token);
		for (const fixed of this.#fixedTokens) if (timingSafeEqual(given, fixed.digest)) return fixed.userId;
		const hex = given.toString('hex');
		const found = this.#log.catalog.tokens.find((one) => one.digest === hex);
		if (!found || (found.expiresAt !== 0n && found.expiresAt <= this.#log.now())) return undefined;
		return this.#isKnown(found.userId) ? found.userId : undefined;
	}

	/** Makes a token; `expiry` is in microseconds from now, 0 for none. */
	createToken(userId: number, name: string, expiry: bigint): string {
		const mine = this.#log.catalog.tokens.filter((one) => one.userId === userId);
		if (mine.some((one) => one.name === name)) throw rejected(Status.tokenExists);
		if (mine.length >= TOKENS_PER_USER) throw rejected(Status.tokenLimit);
		const token = randomBytes(51).toString('base64url');
		this.#log.record({
			on: 'token+',
			user: userId,
			name,
			digest: digest(token).toString('hex'),
			expires: (expiry === 0n || expiry === 0xffff_ffff_ffff_ffffn
				? 0n
				: this.#log.now() + expiry
			).toString(),
		});
		return token;
	}

	deleteToken(userId: number, name: string): void {
		if (!this.#log.catalog.tokens.some((one) => one.userId === userId && one.name === name)) {
			throw rejected(Status.resourceNotFound);
		}
		this.#log.record({ on: 'token-', user: userId, name });
	}

	/** A token of a user whom this run does not know opens nothing. */
	#isKnown(userId: number): boolean {
		for (const [name, id] of this.#log.catalog.users) if (id === userId) return this.#passwords.has(name);
		return false;
	}
}
