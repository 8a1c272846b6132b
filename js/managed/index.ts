export { Bindings } from './bindings.js';
export { ProjectionBindingBuilder, ProjectionBuilder } from './builders.js';
export { ProjectionListing, Projections } from './projections.js';
export {
	type SchemaDefinition,
	type SchemaInfo,
	SchemaRegistration,
	type SchemaSource,
	Schemas,
} from './schemas.js';
export type {
	Projection,
	ProjectionBinding,
	ProjectionContentType,
	ProjectionField,
	ProjectionInfo,
	RetentionPolicy,
	TopicSource,
} from './types.js';
