import { createRegistry, fromJson, type JsonObject, type Registry, toBinary } from '@bufbuild/protobuf';
import { ErrorReplies } from '../failures/error-reply.js';
import {
  deadlineExceeded,
  type Failure,
  type FailureReason,
  internal,
  malformed,
  overloaded,
  shuttingDown,
} from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import { file_google_rpc_error_details } from '../gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../gen/google/rpc/status_pb.js';
import { headersTooLarge, requestTimedOut } from '../http/client-error.js';
import { preconditionFailed } from '../http/entity-tag.js';
import { bodyTooLarge } from '../http/received-bytes.js';
import { contentCodingUnsupported, mediaTypeUnsupported } from '../http/request-body.js';
import { targetTooLong, transferCodingUnsupported } from '../http/request-head.js';
import type { ErrorReply } from '../http-reply.js';
import type { FailureFacts } from './description-options.js';
import { REQUEST_ID } from './response-headers.js';

/** What the names of messages in `details` begin with. */
export const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';

/** A failure as a client sees it. */
export interface FailureExample {
  readonly reason: string;
  readonly reply: ErrorReply;
  /** Whether any method may fail so. */
  readonly everywhere: boolean;
}

/** The contract and the options that the replies of failures follow. */
interface ExampleOptions {
  readonly registry: Registry;
  readonly domain: string;
  readonly realm: string;
  readonly maxBodyBytes: number;
  readonly maxRequests: number;
}

/** The reasons whose examples stand apart: they depend on the HTTP method, or belong to no operation. */
type ApartReason = 'CONTENT_TYPE_UNSUPPORTED' | 'PATH_UNKNOWN' | 'METHOD_NOT_ALLOWED';

const UNKNOWN_FIELD = { field: 'nmae', description: 'Is not a known field.' };

/** Makes the examples of failures as the transcoder makes its replies. */
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
    // The only trailer that is asked for.
    const trailers = { get: () => [toBinary(StatusSchema, status)] };
    const reply = { code: Code[code], details: message, answered: true, trailers };
    return { reason, reply: this.#replies.ofUpstream(reply, REQUEST_ID), everywhere };
  }

  /** Those of the transcoder itself that operations can have, whatever their HTTP method. */
  own(): FailureExample[] {
    const { maxBodyBytes, maxRequests } = this.#options;
    const own: Record<Exclude<FailureReason, ApartReason>, Failure> = {
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

  /** One that the transcoder itself finds. */
  of(failure: Failure): FailureExample {
    const everywhere = failure.reason !== 'PRECONDITION_FAILED';
    return { reason: failure.reason, reply: this.#replies.ofFailure(failure, REQUEST_ID), everywhere };
  }

  /** The failures to which no server answered, but for those that are like the transcoder's own. */
  #ofChannel(): FailureExample[] {
    return [Code.CANCELLED, Code.UNAVAILABLE].map((code) => {
      const reply = this.#replies.ofUpstream({ code, details: '', answered: false }, REQUEST_ID);
      return { reason: String(reply.reason), reply, everywhere: true };
    });
  }
}

function detail(name: string, fields: JsonObject): JsonObject {
  return { '@type': `${TYPE_PREFIX}${name}`, ...fields };
}
