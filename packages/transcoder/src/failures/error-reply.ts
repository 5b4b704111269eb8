import { isUint8Array } from 'node:util/types';
import { createRegistry, fromBinary, toJson, type JsonObject, type Registry } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import { isObject } from '../fields/json-value.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import { file_google_rpc_error_details } from '../gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../gen/google/rpc/status_pb.js';
import type { ErrorReply } from '../http-reply.js';
import type { ReplyMetadata, UnaryReply } from '../upstream.js';
import { codeOf, type FieldViolation, type HttpFailure, httpStatusOf, upstreamFailure } from './failure.js';

/** Options of `ErrorReplies`. */
interface ErrorReplyOptions {
  /** The types of error details beyond google/rpc/error_details.proto; details of other types are their bytes in base64. */
  readonly registry: Registry;
  /** The `domain` of the `google.rpc.ErrorInfo` if the server sends none. */
  readonly domain: string;
  /** The realm of bearer challenges (RFC 6750 3). */
  readonly realm: string;
  /** Called with the type URL of each detail of an unknown type. */
  readonly reportUnknownType: (typeUrl: string) => void;
}

const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';
const STATUS_DETAILS = 'grpc-status-details-bin';

/** Creates the HTTP responses of failed calls: `{"error":{code, status, message, details}}` (AIP-193). */
export class ErrorReplies {
  readonly #options: ErrorReplyOptions;
  readonly #registry: Registry;

  constructor(options: ErrorReplyOptions) {
    this.#options = options;
    this.#registry = createRegistry(options.registry, file_google_rpc_error_details);
  }

  /** The response for a failure that the transcoder itself detected. */
  ofFailure(failure: HttpFailure, requestId: string): ErrorReply {
    const { code, httpStatus, reason, headers, retryAfterS, cause } = failure;
    const violations = failure.violations();
    const { domain } = this.#options;
    const details = ownDetails({ reason, domain, requestId }, violations, retryAfterS);
    return {
      ...errorReply(code, httpStatus, messageNaming(failure.text(), violations), details, {
        ...headers,
        ...(retryAfterS === undefined ? {} : { 'Retry-After': String(retryAfterS) }),
      }),
      cause,
      reason,
    };
  }

  /**
   * The response for a reply other than `OK`. The text is that of the `google.rpc.Status`, which arrives as it was sent,
   * unlike `grpc-message`. If the server sends none, its code and text are kept, and the name of the code becomes the
   * reason. If the status does not come from a server, the text is fixed.
   */
  ofUpstream(reply: UnaryReply, requestId: string): ErrorReply {
    const code = codeOf(reply.code);
    if (!reply.answered)
      return this.ofFailure(upstreamFailure(code, reply.details, reply.clientMessage), requestId);
    const { domain } = this.#options;
    const { message = reply.details, details = ownDetails({ reason: Code[code], domain, requestId }) } =
      this.#statusIn(reply.trailers);
    const { reason, metadata } = detailOf(details, 'ErrorInfo');
    const tooLarge = code === Code.RESOURCE_EXHAUSTED && reason === 'REQUEST_TOO_LARGE';
    const scope = isObject(metadata) ? metadata['scope'] : undefined;
    const challenge = bearerChallenge(code, this.#options.realm, reason, scope);
    const answer = errorReply(code, tooLarge ? 413 : httpStatusOf(code), message, details, {
      ...(tooLarge ? {} : retryHeaders(code, details)),
      ...(challenge === undefined ? {} : { 'WWW-Authenticate': challenge }),
    });
    return { ...answer, reason: typeof reason === 'string' ? reason : undefined };
  }

  /** The `google.rpc.Status` in the trailers; empty if none can be decoded. */
  #statusIn(trailers: ReplyMetadata | undefined): { message?: string; details?: JsonObject[] } {
    const [bytes] = trailers?.get(STATUS_DETAILS) ?? [];
    if (!isUint8Array(bytes)) return {};
    try {
      const { message, details } = fromBinary(StatusSchema, bytes);
      return {
        ...(message === '' ? {} : { message }),
        details: details.flatMap((detail) => this.#detailJson(detail)),
      };
    } catch {
      return {};
    }
  }

  /** The JSON form of a detail; its bytes in base64 as `value` if there is none. A detail without a type is left out. */
  #detailJson(detail: Any): JsonObject[] {
    if (detail.typeUrl === '') return [];
    try {
      const json = toJson(AnySchema, detail, { registry: this.#registry }) as JsonObject;
      return [{ '@type': detail.typeUrl, ...json }];
    } catch {
      this.#options.reportUnknownType(detail.typeUrl);
      return [{ '@type': detail.typeUrl, value: Buffer.from(detail.value).toString('base64') }];
    }
  }
}

/** What the details of every own error tell. */
interface ErrorFacts {
  readonly reason: string;
  readonly domain: string;
  readonly requestId: string;
}

/** The details of an error that does not come from the server, in ProtoJSON. */
export function ownDetails(
  { reason, domain, requestId }: ErrorFacts,
  violations: readonly FieldViolation[] = [],
  retryAfterS?: number,
): JsonObject[] {
  const details: JsonObject[] = [{ '@type': `${TYPE_PREFIX}ErrorInfo`, reason, domain }];
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
    details.push({ '@type': `${TYPE_PREFIX}BadRequest`, fieldViolations });
  }
  if (retryAfterS !== undefined)
    details.push({ '@type': `${TYPE_PREFIX}RetryInfo`, retryDelay: `${retryAfterS}s` });
  details.push({ '@type': `${TYPE_PREFIX}RequestInfo`, requestId });
  return details;
}

/** The message with what is wrong with the only invalid field, or with the names of several. */
function messageNaming(message: string, violations: readonly FieldViolation[]): string {
  const fields = new Set(violations.map(({ field }) => field));
  // A parameter may have been sent without a name.
  fields.delete('');
  const [only] = violations;
  if (violations.length === 1 && fields.size === 1) return `${message} ${only?.field}: ${only?.description}`;
  return fields.size === 0 ? message : `${message.slice(0, -1)}: ${[...fields].join(', ')}.`;
}

/** The detail of a type from google/rpc/error_details.proto; an empty object if there is none. */
function detailOf(details: readonly JsonObject[], name: string): JsonObject {
  return details.find((detail) => detail['@type'] === TYPE_PREFIX + name) ?? {};
}

/** `Retry-After` (RFC 9110 10.2.3), in whole seconds: from the server's `RetryInfo`, otherwise 1. */
function retryHeaders(code: Code, details: readonly JsonObject[]): Record<string, string> {
  if (code !== Code.UNAVAILABLE && code !== Code.RESOURCE_EXHAUSTED) return {};
  const { retryDelay } = detailOf(details, 'RetryInfo');
  const seconds = typeof retryDelay === 'string' ? Math.max(0, Math.ceil(parseFloat(retryDelay))) : 1;
  return { 'Retry-After': String(seconds) };
}

/** An error in its JSON form. @param details in ProtoJSON, each with `@type`. */
export function errorReply(
  code: Code,
  httpStatus: number,
  message: string,
  details: readonly JsonObject[],
  headers: Readonly<Record<string, string>>,
): ErrorReply {
  const error = { code: httpStatus, status: Code[code], message, details };
  return { status: httpStatus, headers, body: JSON.stringify({ error }) };
}

// RFC 6749 3.3, as RFC 6750 3 requires: scope tokens separated by single spaces.
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * The `WWW-Authenticate` header of a refusal (RFC 6750 3).
 *
 * @param reason the reason of its `google.rpc.ErrorInfo`; for `TOKEN_MISSING`, the challenge has no `error`.
 * @param scope the scope that the call requires, from the metadata of its `google.rpc.ErrorInfo`.
 * @returns undefined if the refusal is not about the token.
 */
export function bearerChallenge(
  code: Code,
  realm: string,
  reason: unknown,
  scope: unknown,
): string | undefined {
  const challenge = `Bearer realm="${realm}"`;
  if (code === Code.UNAUTHENTICATED) {
    return reason === 'TOKEN_MISSING' ? challenge : `${challenge}, error="invalid_token"`;
  }
  if (code !== Code.PERMISSION_DENIED || typeof scope !== 'string' || !SCOPE.test(scope)) return undefined;
  return `${challenge}, error="insufficient_scope", scope="${scope}"`;
}
