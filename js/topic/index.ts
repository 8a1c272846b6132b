export type { HeaderValue } from './headers.js';
export { TopicRecord } from './record.js';
export type { SchemaIssue, SchemaResult, StandardSchema } from './schema.js';
export { StreamHandle, Topic, type TopicDurableOptions } from './topic.js';
export { TopicReader, type TopicReaderOptions } from './topic-reader.js';
