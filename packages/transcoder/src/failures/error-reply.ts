import { fromBinary, toJson, type JsonObject, type Registry } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { Any } from '../../../../src/gen/google/protobuf/any.js';
import { Status } from '../../../../src/gen/google/rpc/status.js';
import { bearerChallenge } from './bearer-challenge.js';
import type { Failure, Violation } from './failure.js';
import { httpStatusOf } from './http-status.js';
import { isObject } from '../fields/json-object.js';
import type { ErrorReply } from '../http-reply.js';
import { upstreamFailure } from './upstream-failure.js';
import type { UnaryReply } from '../upstream.js';

/** What every error reply is made with. */
export interface ErrorReplyOptions {
  /** Knows the types of error details; details of other types are left out. */
  readonly registry: Registry;
  /** The `domain` of the gateway's own `google.rpc.ErrorInfo`. */
  readonly domain: string;
  /** The realm of bearer challenges (RFC 6750 3). */
  readonly realm: string;
}

const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';

/** Makes the HTTP responses of calls that failed: `{"error":{code, status, message, details}}` (AIP-193). */
export class ErrorReplies {
  readonly #options: ErrorReplyOptions;

  constructor(options: ErrorReplyOptions) {
    this.#options = options;
  }

  /** The response for a failure that the gateway found itself. */
  ofFailure(failure: Failure, requestId: string): ErrorReply {
    const { code, httpStatus, reason, message, headers, cause } = failure;
    const violations = failure.violations();
    const details = this.#ownDetails(reason, requestId, violations);
    return { ...errorReply(code, httpStatus, naming(message, violations), details, headers), cause };
  }

  /** The response for a reply other than `OK`. What no server described is said in fixed words. */
  ofUpstream(reply: UnaryReply, requestId: string): ErrorReply {
    const details = this.#upstreamDetails(reply);
    if (details === undefined) {
      const { code, reason, message } = upstreamFailure(reply.code);
      const own = this.#ownDetails(reason, requestId, []);
      const cause = new Error(`upstream: ${status[reply.code]}: ${reply.details}`);
      return { ...errorReply(code, httpStatusOf(code), message, own, retryHeaders(code)), cause };
    }
    const info = details.find((detail) => detail['@type'] === `${TYPE_PREFIX}ErrorInfo`) ?? {};
    const { reason, metadata } = info;
    const tooLarge = reply.code === status.RESOURCE_EXHAUSTED && reason === 'REQUEST_TOO_LARGE';
    const scope = isObject(metadata) ? metadata['scope'] : undefined;
    const challenge = bearerChallenge(reply.code, this.#options.realm, reason, scope);
    return errorReply(reply.code, tooLarge ? 413 : httpStatusOf(reply.code), reply.details, details, {
      ...(tooLarge ? {} : retryHeaders(reply.code)),
      ...(challenge === undefined ? {} : { 'WWW-Authenticate': challenge }),
    });
  }

  #ownDetails(reason: string, requestId: string, violations: readonly Violation[]): JsonObject[] {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    return [
      { '@type': `${TYPE_PREFIX}ErrorInfo`, reason, domain: this.#options.domain },
      ...(fieldViolations.length === 0 ? [] : [{ '@type': `${TYPE_PREFIX}BadRequest`, fieldViolations }]),
      { '@type': `${TYPE_PREFIX}RequestInfo`, requestId },
    ];
  }

  /** The details of the `google.rpc.Status` in the trailers; undefined where there is none. */
  #upstreamDetails({ trailers }: UnaryReply): JsonObject[] | undefined {
    const [bytes] = trailers.get('grpc-status-details-bin');
    if (!(bytes instanceof Buffer)) return undefined;
    try {
      return Status.decode(bytes).details.flatMap((detail) => this.#detailJson(detail));
    } catch {
      return undefined;
    }
  }

  #detailJson(detail: Any): JsonObject[] {
    try {
      const any = fromBinary(AnySchema, Any.encode(detail).finish());
      const json = toJson(AnySchema, any, { registry: this.#options.registry });
      const { '@type': type, ...fields } = json as JsonObject;
      return type === undefined ? [] : [{ '@type': type, ...fields }];
    } catch {
      return [];
    }
  }
}

/** The message with the names of the wrong fields: `The request does not fit the method: book.title.` */
function naming(message: string, violations: readonly Violation[]): string {
  const fields = new Set(violations.map(({ field }) => field));
  // A parameter may have come without a name.
  fields.delete('');
  return fields.size === 0 ? message : `${message.slice(0, -1)}: ${[...fields].join(', ')}.`;
}

function retryHeaders(code: status): Record<string, string> {
  return code === status.UNAVAILABLE || code === status.RESOURCE_EXHAUSTED ? { 'Retry-After': '1' } : {};
}

function errorReply(
  code: status,
  httpStatus: number,
  message: string,
  details: readonly JsonObject[],
  headers: Readonly<Record<string, string>>,
): ErrorReply {
  const error = { code: httpStatus, status: status[code], message, details };
  return { status: httpStatus, headers, body: JSON.stringify({ error }) };
}
