/** The exports for programs that describe the REST interface of a contract, for example as OpenAPI. */
export { failures } from './failures/failure.js';
export { hasTextForm } from './fields/text-value.js';
export { FieldBehavior } from './gen/google/api/field_behavior_pb.js';
export type { Binding } from './template/binding.js';
export { hasBehavior } from './template/contract-options.js';
export { readContract } from './template/contract.js';
export { successRules, type SuccessRule } from './template/standard-method.js';
