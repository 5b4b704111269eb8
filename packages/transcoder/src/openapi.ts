/** The API that describes what a transcoder serves, as an OpenAPI document. */
export type {
  DescriptionOptions,
  FailureFacts,
  FieldFacts,
  HeaderFacts,
  Security,
} from './openapi/description-options.js';
export { describe } from './openapi/document.js';
export type * from './openapi/open-api.js';
