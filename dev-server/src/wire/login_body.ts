import { BodyError, BodyReader } from './body.js';
import type { Credentials } from './dialect.js';

/** The rest of a login body: user name and password, or a token. No field tells which. */
export function readCredentials(body: Buffer): Credentials {
	try {
		return readPassword(new BodyReader(body));
	} catch (error) {
		if (!(error instanceof BodyError)) throw error;
	}
	const reader = new BodyReader(body);
	const login: Credentials = { by: 'token', token: reader.name() };
	endWithContext(reader);
	return login;
}

function readPassword(reader: BodyReader): Credentials {
	const login: Credentials = { by: 'password', user: reader.name(), password: reader.shortText() };
	endWithContext(reader);
	return login;
}

function endWithContext(reader: BodyReader): void {
	reader.text(reader.u32());
	reader.end();
}
