export { Bindings } from './bindings.js';
export { ProjectionBindingBuilder, ProjectionBuilder } from './builders.js';
export { ProjectionListing, Projections } from './projections.js';
export type {
	Projection,
	ProjectionBinding,
	ProjectionContentType,
	ProjectionField,
	ProjectionInfo,
	RetentionPolicy,
	TopicSource,
} from './types.js';
