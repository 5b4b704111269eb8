/** The exports for programs that describe the REST interface of a contract, for example as OpenAPI. */
export { ErrorReplies } from './failures/error-reply.js';
export {
  type Failure,
  type FailureReason,
  failures,
  deadlineExceeded,
  internal,
  methodNotAllowed,
  overloaded,
  pathUnknown,
  shuttingDown,
} from './failures/failure.js';
export { codeOf, httpStatusOf } from './failures/http-status.js';
export { upstreamFailure } from './failures/upstream-failure.js';
export { hasTextForm } from './fields/text-value.js';
export { preconditionFailed } from './http/entity-tag.js';
export { headersTooLarge, requestTimedOut } from './http/client-error.js';
export { bodyTooLarge } from './http/received-bytes.js';
export { encodingUnsupported } from './http/request-body.js';
export { targetTooLong, transferCodingUnsupported } from './http/request-head.js';
export { SuccessReplies } from './http/success-reply.js';
export type { ErrorReply, HttpReply } from './http-reply.js';
export { JsonOutput } from './json/json-output.js';
export { unknownField } from './json/json-violations.js';
export { misfit } from './message/request-message.js';
export type { Binding } from './template/binding.js';
export { FieldBehavior } from './gen/google/api/field_behavior_pb.js';
export { hasBehavior } from './template/contract-options.js';
export { type Contract, readContract } from './template/contract.js';
export { successRules, type SuccessRule } from './template/standard-method.js';
