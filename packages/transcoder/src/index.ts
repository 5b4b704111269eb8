// The main entry of the package. The others are `./grpc-js`, `./openapi`, `./page` and `./reflection` (package.json).

// The transcoder and its options.
export { createTranscoder, type Transcoder } from './transcoder.js';
export type { TranscoderOptions } from './options.js';
export type { JsonOptions } from './json/json-options.js';
export type { ForwardedHeaders, RenamedHeader, UnfitValue } from './metadata/forwarded-headers.js';
export type { ResponseHeaders } from './metadata/response-headers.js';
export type { StreamEvents } from './http/stream-formats.js';
export type { CacheFigures } from './http/reply-cache.js';

// The contract.
export type { UnsupportedMethods } from './template/contract.js';
export { type UnboundRule, unboundRules } from './template/unbound-rules.js';

// The gRPC server to call.
export type {
  CallMetadata,
  Guard,
  ReplyMetadata,
  ReplyStream,
  UnaryCall,
  UnaryReply,
  Upstream,
} from './upstream.js';

// Logging and observing requests.
export type { LogKind, RequestObservation, RequestObserver, RequestOutcome, TranscoderLog } from './hooks.js';

// Responses of the application beside those of the contract, by `respond`.
export type { Answer } from './http/responder.js';
export type { Exchange } from './http/exchange.js';
export type { ErrorReply, HttpReply } from './http-reply.js';
export { entityTag, isCurrent } from './http/reply.js';

// Failures. Within the package, the name `HttpFailure` tells them apart from failed calls, which are `UnaryReply`s.
export {
  HttpFailure as Failure,
  type FailureReason,
  failures,
  methodNotAllowed,
  pathUnknown,
  type FieldViolation,
} from './failures/failure.js';
