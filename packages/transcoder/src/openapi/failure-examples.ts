import { createRegistry, fromJson, type JsonObject, type Registry, toBinary } from '@bufbuild/protobuf';
import { ErrorReplies } from '../failures/error-reply.js';
import {
  deadlineExceeded,
  type HttpFailure,
  type FailureReason,
  internal,
  malformed,
  overloaded,
  shuttingDown,
  upstreamFailure,
} from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import { file_google_rpc_error_details } from '../gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../gen/google/rpc/status_pb.js';
import { headersTooLarge, requestTimedOut, targetTooLong, transferCodingUnsupported } from '../http/head.js';
import { preconditionFailed } from '../http/reply.js';
import { bodyTooLarge, contentCodingUnsupported, mediaTypeUnsupported } from '../http/body.js';
import type { ErrorReply } from '../http-reply.js';
import type { FailureFacts } from './description-options.js';
import { REQUEST_ID } from './response-headers.js';

/** The prefix of the `@type` of `google.rpc` messages in `details`. */
export const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';

/** A failure as a client sees it. */
export interface FailureExample {
  readonly reason: string;
  readonly reply: ErrorReply;
  /** Whether every method may return the failure. */
  readonly everywhere: boolean;
}

/** The parts of the contract and the options that determine the responses to failures. */
interface ExampleOptions {
  readonly registry: Registry;
  readonly domain: string;
  readonly realm: string;
  readonly maxBodyBytes: number;
  readonly maxRequests: number;
}

/** The reasons that `own` leaves out: they depend on the HTTP method, or belong to no operation. */
type ApartReason =
  'CONTENT_TYPE_UNSUPPORTED' | 'PATH_UNKNOWN' | 'METHOD_NOT_ALLOWED' | 'REQUEST_STREAM_UNSUPPORTED';

const UNKNOWN_FIELD = { field: 'nmae', description: 'Must be a known field; got "nmae".' };

/** Creates examples of failures with the code that creates the transcoder's responses. */
export class FailureExamples {
  readonly #options: ExampleOptions;
  readonly #replies: ErrorReplies;

  constructor(options: ExampleOptions) {
    this.#options = options;
    this.#replies = new ErrorReplies(options);
  }

  /** A failure of the server. */
  ofServer(reason: string, facts: FailureFacts): FailureExample {
    const { code, message, metadata, details = [], everywhere = false } = facts;
    const { domain, registry } = this.#options;
    const info = detail('ErrorInfo', { reason, domain, ...(metadata && { metadata: { ...metadata } }) });
    const all = [info, ...details, detail('RequestInfo', { requestId: REQUEST_ID })];
    const types = createRegistry(registry, file_google_rpc_error_details);
    const status = fromJson(StatusSchema, { code: Code[code], message, details: all }, { registry: types });
    // The only trailer that is read.
    const trailers = { get: () => [toBinary(StatusSchema, status)] };
    const reply = { code: Code[code], details: message, answered: true, trailers };
    return { reason, reply: this.#replies.ofUpstream(reply, REQUEST_ID), everywhere };
  }

  /** The failures of the transcoder itself that operations can return, whatever their HTTP method. */
  own(): FailureExample[] {
    const { maxBodyBytes, maxRequests } = this.#options;
    const own: Record<Exclude<FailureReason, ApartReason>, HttpFailure> = {
      REQUEST_MALFORMED: malformed('The request does not fit the method.', [UNKNOWN_FIELD]),
      REQUEST_TIMED_OUT: requestTimedOut(),
      PRECONDITION_FAILED: preconditionFailed(),
      REQUEST_TOO_LARGE: bodyTooLarge(maxBodyBytes),
      TARGET_TOO_LONG: targetTooLong(),
      OVERLOADED: overloaded(`It has ${maxRequests} calls under way.`),
      HEADERS_TOO_LARGE: headersTooLarge(),
      INTERNAL: internal(undefined),
      TRANSFER_CODING_UNSUPPORTED: transferCodingUnsupported(),
      SHUTTING_DOWN: shuttingDown(),
      DEADLINE_EXCEEDED: deadlineExceeded(),
    };
    return [...Object.values(own).map((failure) => this.of(failure)), ...this.#ofChannel()];
  }

  /** Refusals of a content coding and of a media type. @param verb the HTTP method of the request */
  unsupported(verb: string): FailureExample[] {
    return [contentCodingUnsupported(verb), mediaTypeUnsupported(verb)].map((failure) => this.of(failure));
  }

  /** A failure with a response of its own. */
  of(failure: HttpFailure): FailureExample {
    const everywhere = failure.reason !== 'PRECONDITION_FAILED';
    return { reason: failure.reason, reply: this.#replies.ofFailure(failure, REQUEST_ID), everywhere };
  }

  /** The failures of calls without a status from the server, except those that are like the transcoder's own. */
  #ofChannel(): FailureExample[] {
    return [Code.CANCELLED, Code.UNAVAILABLE].map((code) => this.of(upstreamFailure(code, '')));
  }
}

function detail(name: string, fields: JsonObject): JsonObject {
  return { '@type': `${TYPE_PREFIX}${name}`, ...fields };
}
