/** The exports for programs that describe what a transcoder serves. */
export type {
  DescriptionOptions,
  FailureFacts,
  FieldFacts,
  HeaderFacts,
  Security,
} from './openapi/description-options.js';
export { describe } from './openapi/document.js';
export type * from './openapi/open-api.js';
