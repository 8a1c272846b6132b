import type { StreamMeta } from '../../log/catalog_model.js';
import { BodyWriter } from '../body.js';
import { type Call, findStream, NOTHING } from '../call.js';
import { rejected, Status } from '../codes.js';
import { readOptions } from '../option_block.js';

export function getStream(call: Call): Buffer {
	const { log } = call.services;
	const stream = findStream(log, call.body.identifier());
	call.body.end();
	if (!stream) return NOTHING;
	const body = new BodyWriter();
	call.dialect.writeStream(body, stream, log);
	for (const topic of stream.topics.values()) call.dialect.writeTopic(body, topic, log);
	return body.done();
}

export function getStreams(call: Call): Buffer {
	call.body.end();
	const body = new BodyWriter();
	const { log } = call.services;
	for (const stream of log.catalog.streams.values()) call.dialect.writeStream(body, stream, log);
	return body.done();
}

export function createStream(call: Call): Buffer {
	const name = call.body.name();
	// Streams have no options in these dialects: any key is refused.
	readOptions(call.body.rest(), []);
	const { log } = call.services;
	if (log.catalog.streamByName(name)) throw rejected(Status.streamNameExists);
	const body = new BodyWriter();
	call.dialect.writeStream(body, log.createStream(name), log);
	return body.done();
}

function readStream(call: Call): StreamMeta {
	const stream = findStream(call.services.log, call.body.identifier());
	if (!stream) throw rejected(Status.streamNotFound);
	return stream;
}

export function updateStream(call: Call): Buffer {
	const stream = readStream(call);
	const name = call.body.name();
	readOptions(call.body.rest(), []);
	const namesake = call.services.log.catalog.streamByName(name);
	if (namesake && namesake !== stream) throw rejected(Status.streamNameExists);
	call.services.log.record({ on: 'stream=', id: stream.id, name });
	return NOTHING;
}

export function deleteStream(call: Call): Buffer {
	const stream = readStream(call);
	call.body.end();
	for (const topic of stream.topics.values()) {
		for (const group of topic.groups.values()) call.services.groups.deleted(group);
	}
	call.services.log.deleteStream(stream);
	return NOTHING;
}

export function purgeStream(call: Call): Buffer {
	const stream = readStream(call);
	call.body.end();
	for (const topic of stream.topics.values()) call.services.log.purgeTopic(topic);
	return NOTHING;
}
