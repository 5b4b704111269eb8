/** The public API of the package. */
export {
  HttpFailure as Failure,
  type FailureReason,
  failures,
  methodNotAllowed,
  pathUnknown,
  type FieldViolation,
} from './failures/failure.js';
export { entityTag, isCurrent } from './http/reply.js';
export type { CacheFigures } from './http/reply-cache.js';
export type { Exchange } from './http/exchange.js';
export type { ForwardedHeaders, RenamedHeader, UnfitValue } from './metadata/forwarded-headers.js';
export type { ResponseHeaders } from './metadata/response-headers.js';
export type { StreamEvents } from './http/stream-formats.js';
export type { ErrorReply, HttpReply } from './http-reply.js';
export type { JsonOptions } from './json/json-options.js';
export type { LogKind, TranscoderLog } from './hooks.js';
export type { TranscoderOptions } from './options.js';
export type { RequestObservation, RequestObserver, RequestOutcome } from './hooks.js';
export type { UnsupportedMethods } from './template/contract.js';
export { type UnboundRule, unboundRules } from './template/unbound-rules.js';
export type { Answer } from './http/responder.js';
export { createTranscoder, type Transcoder } from './transcoder.js';
export type {
  CallMetadata,
  Guard,
  ReplyMetadata,
  ReplyStream,
  UnaryCall,
  UnaryReply,
  Upstream,
} from './upstream.js';
