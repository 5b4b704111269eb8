import { STATUS_CODES } from 'node:http';
import { allFailures, httpStatusOf } from '../failures/failure.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import type { DescriptionOptions } from './description-options.js';
import type { Header, Headers, Response, Responses } from './open-api.js';
import { type DescribedHeaders, exactly, header } from './response-headers.js';

/** The statuses that a caller can do something about. All others are described together. */
const STATUSES = [400, 401, 403, 404, 409, 412, 413, 415, 429, 503];

/** The transcoder's own reasons that belong to no operation. */
const OUTSIDE: ReadonlySet<string> = new Set(['PATH_UNKNOWN', 'METHOD_NOT_ALLOWED']);
/** The transcoder's own reasons that only some operations have. */
const OF_SOME: ReadonlySet<string> = new Set([
  'PRECONDITION_FAILED',
  'REQUEST_TOO_LARGE',
  'CONTENT_TYPE_UNSUPPORTED',
]);

const TEXT = { type: 'string' };
const CHALLENGE = header('The kind of token that is required (RFC 6750).', TEXT);
const PAUSE = header('The number of seconds to wait before a retry.', { type: 'integer', minimum: 0 }, 1);
const MEDIA_TYPE = header('The media type that is accepted.', exactly('application/json'));
const CODING = header(
  'The content coding that is accepted; sent when the content coding was refused.',
  exactly('identity'),
);

const CONTENT = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };

/** A failure that operations can return. */
interface OperationError {
  readonly reason: string;
  readonly status: number;
  /** Whether every operation can return it. */
  readonly everywhere: boolean;
}

/** The error responses: one for each status that a caller can do something about, and one for all others. */
export class ErrorResponses {
  /** All known reasons, sorted. */
  readonly reasons: readonly string[];
  /** Whether the failures of the server are known. */
  readonly #closed: boolean;
  readonly #headers: DescribedHeaders;
  readonly #failures: readonly OperationError[];
  readonly #used = new Set<number>();
  /** The headers in which operations say what media type they accept. */
  readonly #accepting = new Set<string>();

  /** @param failures those of the server; undefined if they are unknown */
  constructor(failures: DescriptionOptions['failures'], headers: DescribedHeaders) {
    this.#closed = failures !== undefined;
    this.#headers = headers;
    const ofServer = Object.entries(failures ?? {}).map(([reason, { code, everywhere = false }]) => ({
      reason,
      status: httpStatusOf(Code[code]),
      everywhere,
    }));
    const own = Object.entries(allFailures)
      // The paths of streams of requests are not described.
      .filter(([reason]) => reason !== 'REQUEST_STREAM_UNSUPPORTED')
      .map(([reason, { httpStatus }]) => ({ reason, status: httpStatus, everywhere: !OF_SOME.has(reason) }));
    this.reasons = [...new Set([...ofServer, ...own].map(({ reason }) => reason))].sort();
    this.#failures = [...ofServer, ...own].filter(({ reason }) => !OUTSIDE.has(reason));
  }

  /**
   * References to the error responses of an operation, by status: those of all operations, and those with one of the
   * reasons.
   *
   * @param reasons the reasons that the comment of the method names, or its rule or its body implies
   */
  of(verb: string, reasons: ReadonlySet<string>): Responses {
    const met = STATUSES.filter((status) =>
      this.#failures.some(
        (failure) => failure.status === status && (failure.everywhere || reasons.has(failure.reason)),
      ),
    );
    for (const status of met) this.#used.add(status);
    if (met.includes(415)) this.#accepting.add(verb === 'PATCH' ? 'Accept-Patch' : 'Accept-Post');
    return Object.fromEntries([
      ...met.map((status) => [String(status), reference(`Error${status}`)] as const),
      ['default', reference('Error')] as const,
    ]);
  }

  /** The responses that operations refer to. */
  components(): Record<string, Response> {
    const used = STATUSES.filter((status) => this.#used.has(status));
    // A server whose failures are unknown may also refuse a token, or ask for a pause.
    const ofUnknown = { 'WWW-Authenticate': optional(CHALLENGE), 'Retry-After': optional(PAUSE) };
    const further = this.#closed ? {} : ofUnknown;
    return {
      ...Object.fromEntries(used.map((status) => [`Error${status}`, this.#response(status)] as const)),
      Error: {
        description: 'Any other failure; its `reason` says which.',
        headers: { ...this.#headers.uncached(), ...further },
        content: CONTENT,
      },
    };
  }

  #response(status: number): Response {
    const met = this.#failures.filter((failure) => failure.status === status);
    const reasons = [...new Set(met.map(({ reason }) => `\`${reason}\``))].join(', ');
    const others = this.#closed ? '' : ', or a reason of the service';
    return {
      description: `${String(STATUS_CODES[status])}: ${reasons}${others}.`,
      headers: { ...this.#headers.uncached(), ...this.#headersOf(status) },
      content: CONTENT,
    };
  }

  #headersOf(status: number): Headers {
    const { size } = this.#accepting;
    const mediaType = size === 1 ? MEDIA_TYPE : optional(MEDIA_TYPE);
    const accepting: Headers = Object.fromEntries([...this.#accepting].map((name) => [name, mediaType]));
    const known: Readonly<Record<number, Headers>> = {
      401: { 'WWW-Authenticate': CHALLENGE },
      403: { 'WWW-Authenticate': optional(CHALLENGE) },
      415: { ...accepting, 'Accept-Encoding': optional(CODING) },
      429: { 'Retry-After': PAUSE },
      503: { 'Retry-After': PAUSE },
    };
    return known[status] ?? {};
  }
}

function optional(requiredHeader: Header): Header {
  return { ...requiredHeader, required: false };
}

function reference(name: string) {
  return { $ref: `#/components/responses/${name}` };
}
