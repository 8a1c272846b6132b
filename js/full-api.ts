export * from './changefeed/index.js';
export * from './managed/index.js';
export * from './query/index.js';
export {
	type Codec,
	type Confirmation,
	type ContentType,
	PublishBatchRequest,
	PublishRequest,
	type SendMessagesResponse,
} from './topic/publish.js';
export { PublishableStream, PublishableTopic } from './topic/publishable.js';
export * from './watch-api.js';
