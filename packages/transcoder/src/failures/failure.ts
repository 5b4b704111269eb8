import { Code } from '../gen/google/rpc/code_pb.js';

/** How a failure is reported. Its HTTP status may be more specific than that of its code (`httpStatusOf`). */
interface FailureStatus {
  readonly code: Code;
  readonly httpStatus: number;
}

/** The failures that the transcoder itself detects, by the reason in their `google.rpc.ErrorInfo`. */
export const failures = {
  PATH_UNKNOWN: { code: Code.NOT_FOUND, httpStatus: 404 },
  METHOD_NOT_ALLOWED: { code: Code.UNIMPLEMENTED, httpStatus: 405 },
  REQUEST_STREAM_UNSUPPORTED: { code: Code.UNIMPLEMENTED, httpStatus: 501 },
  REQUEST_MALFORMED: { code: Code.INVALID_ARGUMENT, httpStatus: 400 },
  TARGET_TOO_LONG: { code: Code.INVALID_ARGUMENT, httpStatus: 414 },
  HEADERS_TOO_LARGE: { code: Code.RESOURCE_EXHAUSTED, httpStatus: 431 },
  REQUEST_TIMED_OUT: { code: Code.DEADLINE_EXCEEDED, httpStatus: 408 },
  REQUEST_TOO_LARGE: { code: Code.RESOURCE_EXHAUSTED, httpStatus: 413 },
  CONTENT_TYPE_UNSUPPORTED: { code: Code.INVALID_ARGUMENT, httpStatus: 415 },
  TRANSFER_CODING_UNSUPPORTED: { code: Code.UNIMPLEMENTED, httpStatus: 501 },
  PRECONDITION_FAILED: { code: Code.FAILED_PRECONDITION, httpStatus: 412 },
  OVERLOADED: { code: Code.RESOURCE_EXHAUSTED, httpStatus: 429 },
  SHUTTING_DOWN: { code: Code.UNAVAILABLE, httpStatus: 503 },
  DEADLINE_EXCEEDED: { code: Code.DEADLINE_EXCEEDED, httpStatus: 504 },
  INTERNAL: { code: Code.INTERNAL, httpStatus: 500 },
} as const satisfies Record<string, FailureStatus>;

/** The reasons of the failures that the transcoder itself detects: a part of those of `HttpFailure`. */
export type FailureReason = keyof typeof failures;

/** The transcoder's own failures, and those of calls that the upstream could not complete. */
export const allFailures = {
  ...failures,
  CANCELLED: { code: Code.CANCELLED, httpStatus: 499 },
  UPSTREAM_UNAVAILABLE: { code: Code.UNAVAILABLE, httpStatus: 503 },
} as const satisfies Record<string, FailureStatus>;

type Reason = keyof typeof allFailures;

/** One invalid part of a request, as in `google.rpc.BadRequest`. */
export interface FieldViolation {
  /** Path of the field in proto names (`book.tags[2]`), or the name of the parameter or header. */
  readonly field: string;
  /** What is allowed, then what came, in a sentence: `Must be a string; got a number.` */
  readonly description: string;
}

/** The maximum number of violations in one response; a client sees further ones on its next attempt. */
export const MAX_VIOLATIONS = 100;

/** The parts of a failure besides its reason and message. */
interface FailureContext {
  /**
   * The violations. Finding them may cost more than the response itself, so they are computed only when they are shown,
   * and only the first `MAX_VIOLATIONS`.
   */
  readonly violations?: Iterable<FieldViolation>;
  /** What follows the message; computed only when it is shown, as the violations are. Default: nothing. */
  readonly ending?: () => string;
  /** Headers of the response, for example `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How long a client should wait before it retries, in seconds. */
  readonly retryAfterS?: number;
  /** The underlying error, for the log only. */
  readonly cause?: unknown;
}

/** A failure with a response of its own, in place of a status from the server. The message is sent to the client. */
export class HttpFailure extends Error {
  readonly reason: Reason;
  readonly code: Code;
  readonly httpStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfterS: number | undefined;
  readonly #violations: Iterable<FieldViolation>;
  /** Those of `#violations` that are shown; undefined until they are. */
  #shown: FieldViolation[] | undefined;
  readonly #ending: () => string;

  constructor(reason: Reason, message: string, context: FailureContext = {}) {
    super(message, { cause: context.cause });
    this.name = 'HttpFailure';
    this.reason = reason;
    const { code, httpStatus } = allFailures[reason];
    this.code = code;
    this.httpStatus = httpStatus;
    this.headers = context.headers ?? {};
    this.retryAfterS = context.retryAfterS;
    this.#violations = context.violations ?? [];
    this.#ending = context.ending ?? (() => '');
  }

  /** The whole message, for the client. */
  text(): string {
    return this.message + this.#ending();
  }

  /** The first `MAX_VIOLATIONS` violations. */
  violations(): FieldViolation[] {
    return (this.#shown ??= firstViolations(this.#violations));
  }
}

function firstViolations(violations: Iterable<FieldViolation>): FieldViolation[] {
  const first: FieldViolation[] = [];
  for (const violation of violations) {
    first.push(violation);
    if (first.length === MAX_VIOLATIONS) break;
  }
  return first;
}

/** The violations of several lists. Those of a list are computed only when they are read. */
export function* joinViolations(...lists: readonly Iterable<FieldViolation>[]): Generator<FieldViolation> {
  for (const violations of lists) yield* violations;
}

// A function for each of the failures that arise in several places, named by its reason.

/** Path, query and body do not make a valid request message: `REQUEST_MALFORMED` with the violations. */
export function invalidFields(violations: Iterable<FieldViolation>): HttpFailure {
  return new HttpFailure('REQUEST_MALFORMED', 'The request is not valid.', { violations });
}

/** The request is malformed as a whole, not in fields that could be named. @param message says how, in a sentence */
export function malformed(message: string): HttpFailure {
  return new HttpFailure('REQUEST_MALFORMED', message);
}

/** No binding and no page has the path. */
export function pathUnknown(): HttpFailure {
  return new HttpFailure('PATH_UNKNOWN', 'No resource has this path.');
}

/** The path exists, but not for this HTTP method; the headers name the supported methods. */
export function methodNotAllowed(headers: { readonly Allow: string }): HttpFailure {
  return new HttpFailure(
    'METHOD_NOT_ALLOWED',
    `The resource does not support this HTTP method. It supports ${headers.Allow}.`,
    { headers },
  );
}

/** The method takes a stream of messages, which one HTTP request does not carry. */
export function requestStreamUnsupported(): HttpFailure {
  return new HttpFailure(
    'REQUEST_STREAM_UNSUPPORTED',
    'The method takes a stream of requests, which is not supported over HTTP. Call it over gRPC.',
  );
}

/** The message for a client that the service cannot serve now. @param why one or more sentences */
const tryAgain = (why: string): string => `${why} Try again in a second.`;
const OVERLOADED_TEXT = 'The service is overloaded.';

/** The server has reached a limit; the request was not processed. @param why a sentence */
export function overloaded(why: string): HttpFailure {
  return new HttpFailure('OVERLOADED', tryAgain(`${OVERLOADED_TEXT} ${why}`), { retryAfterS: 1 });
}

/** The server is stopping: it neither waits for the rest of a request nor goes on with a stream. */
export function shuttingDown(): HttpFailure {
  return new HttpFailure('SHUTTING_DOWN', tryAgain('The service is shutting down.'), { retryAfterS: 1 });
}

/**
 * The deadline passed before the request had arrived completely, or before its call or stream had ended.
 *
 * @param cause the upstream's error, for the log; undefined if the transcoder itself measured the time
 */
export function deadlineExceeded(cause?: unknown): HttpFailure {
  return new HttpFailure('DEADLINE_EXCEEDED', 'The deadline passed before the call was answered.', { cause });
}

/** An unexpected error. @param cause the error, for the log @param message what the client is told */
export function internal(cause: unknown, message = 'An internal error occurred.'): HttpFailure {
  return new HttpFailure('INTERNAL', message, { cause });
}

/** Used in place of `retryAfterS`, which also adds a `RetryInfo`, as if the service itself asked for a pause. */
const RETRY_HEADERS = { 'Retry-After': '1' };

/** Creates the failures of calls that the upstream could not complete, by its code; those with other codes are internal. */
const upstreamFailures: ReadonlyMap<Code, (cause: Error) => HttpFailure> = new Map([
  [Code.CANCELLED, (cause) => new HttpFailure('CANCELLED', 'The caller cancelled the call.', { cause })],
  [Code.DEADLINE_EXCEEDED, deadlineExceeded],
  [
    Code.UNAVAILABLE,
    (cause) =>
      new HttpFailure('UPSTREAM_UNAVAILABLE', 'The service is unavailable.', {
        headers: RETRY_HEADERS,
        cause,
      }),
  ],
  [
    Code.RESOURCE_EXHAUSTED,
    (cause) => new HttpFailure('OVERLOADED', tryAgain(OVERLOADED_TEXT), { headers: RETRY_HEADERS, cause }),
  ],
]);

/**
 * The failure for a call whose status does not come from a server. The client gets a fixed text or, for an internal
 * failure, `clientMessage`.
 *
 * @param text the upstream's own text, for the log only: it may name hosts and sockets
 * @param clientMessage the upstream's text for clients about an internal failure; undefined for the fixed text
 */
export function upstreamFailure(code: Code, text: string, clientMessage?: string): HttpFailure {
  const cause = new Error(`upstream: ${Code[code]}: ${text}`);
  const createFailure = upstreamFailures.get(code);
  return createFailure === undefined ? internal(cause, clientMessage) : createFailure(cause);
}

/** The HTTP status of each gRPC code, as in the comments of google/rpc/code.proto. */
const httpStatusByCode = {
  [Code.OK]: 200,
  [Code.CANCELLED]: 499,
  [Code.UNKNOWN]: 500,
  [Code.INVALID_ARGUMENT]: 400,
  [Code.DEADLINE_EXCEEDED]: 504,
  [Code.NOT_FOUND]: 404,
  [Code.ALREADY_EXISTS]: 409,
  [Code.PERMISSION_DENIED]: 403,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.ABORTED]: 409,
  [Code.OUT_OF_RANGE]: 400,
  [Code.UNIMPLEMENTED]: 501,
  [Code.INTERNAL]: 500,
  [Code.UNAVAILABLE]: 503,
  [Code.DATA_LOSS]: 500,
  [Code.UNAUTHENTICATED]: 401,
} as const satisfies Record<Code, number>;

export function httpStatusOf(code: Code): number {
  return httpStatusByCode[code];
}

/** The gRPC code of a number; `UNKNOWN` for a number that gRPC does not define. */
export function codeOf(number: number): Code {
  return isCode(number) ? number : Code.UNKNOWN;
}

function isCode(number: number): number is Code {
  return number in Code;
}
