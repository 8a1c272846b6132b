import { BodyWriter } from '../body.js';
import { type Call, NOTHING } from '../call.js';

export function createToken(call: Call): Buffer {
	const name = call.body.name();
	const expiry = call.body.u64();
	call.body.end();
	const token = call.services.users.createToken(call.session.userId, name, expiry);
	return new BodyWriter().name(token).done();
}

export function deleteToken(call: Call): Buffer {
	const name = call.body.name();
	call.body.end();
	call.services.users.deleteToken(call.session.userId, name);
	return NOTHING;
}
