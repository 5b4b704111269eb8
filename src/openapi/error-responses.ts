import { STATUS_CODES } from 'node:http';
import type { JsonObject } from '@bufbuild/protobuf';
import { DOMAIN, TYPE_PREFIX } from './error-schemas.js';
import { ROUTE_ID } from './field-facts.js';
import type { Headers, Response, Responses } from './open-api.js';
import { exactly, header, headersFor, REQUEST_ID } from './response-headers.js';

/** 499 is in no RFC, only in google/rpc/code.proto. */
const NON_STANDARD = 'Client Closed Request';

const TEXT = { type: 'string' };
const CHALLENGE = 'The kind of token that is required (RFC 6750).';
const INVALID = 'Bearer realm="route-registry", error="invalid_token"';
const INSUFFICIENT = 'Bearer realm="route-registry", error="insufficient_scope", scope="routes:write"';
const CODING = 'The content coding that is accepted; sent when the content coding was refused.';
const PAUSE = header('The number of seconds to wait before a retry.', { type: 'integer', minimum: 0 }, 1);

/** The headers of errors with some statuses, besides those of every response. */
export const headersOfStatus = {
  401: { 'WWW-Authenticate': header(CHALLENGE, TEXT, INVALID) },
  403: { 'WWW-Authenticate': header(CHALLENGE, TEXT, INSUFFICIENT) },
  405: { Allow: header('The HTTP methods that the path supports.', TEXT, 'GET, HEAD, OPTIONS') },
  415: {
    'Accept-Post': header('The media type that is accepted.', exactly('application/json')),
    'Accept-Encoding': { ...header(CODING, exactly('identity')), required: false },
  },
  429: { 'Retry-After': PAUSE },
  503: { 'Retry-After': PAUSE },
} satisfies Readonly<Record<number, Headers>>;

const UNKNOWN_FIELD = { field: 'route.handlr', description: 'Is not a known field.' };
const BAD_REQUEST = detail('BadRequest', { fieldViolations: [UNKNOWN_FIELD] });
const RETRY_INFO = detail('RetryInfo', { retryDelay: '1s' });

/** What a method, or the way to it, may fail with: one response for each status. */
const errors = [
  error(
    400,
    'INVALID_ARGUMENT',
    ['REQUEST_MALFORMED', 'ROUTE_INVALID'],
    'The request does not fit the method: route.handlr.',
    { details: [BAD_REQUEST] },
  ),
  error(401, 'UNAUTHENTICATED', ['TOKEN_INVALID', 'TOKEN_MISSING'], 'The token has expired.'),
  error(403, 'PERMISSION_DENIED', ['SCOPE_MISSING'], 'The token lacks the scope routes:write.', {
    metadata: { scope: 'routes:write' },
  }),
  error(404, 'NOT_FOUND', ['ROUTE_NOT_FOUND'], `There is no route with the id "${ROUTE_ID}".`),
  error(408, 'DEADLINE_EXCEEDED', ['REQUEST_TIMED_OUT'], 'The request did not arrive in time.'),
  error(
    409,
    'ALREADY_EXISTS',
    ['ROUTE_EXISTS', 'REQUEST_ID_REUSED'],
    'A route for GET "/users/:id" already exists; parameter names make no difference.',
    { metadata: { route_id: ROUTE_ID } },
  ),
  error(
    412,
    'FAILED_PRECONDITION',
    ['PRECONDITION_FAILED'],
    'No current representation matches If-Match; a read may name its entity tag or *, a create has none yet.',
  ),
  error(413, 'RESOURCE_EXHAUSTED', ['REQUEST_TOO_LARGE'], 'The request is larger than 65536 bytes.'),
  error(414, 'INVALID_ARGUMENT', ['TARGET_TOO_LONG'], 'The request target is longer than 8192 bytes.'),
  error(
    415,
    'INVALID_ARGUMENT',
    ['CONTENT_TYPE_UNSUPPORTED'],
    'The content encoding is not supported; only identity is allowed.',
  ),
  error(
    429,
    'RESOURCE_EXHAUSTED',
    ['OVERLOADED'],
    'The service is overloaded. It has 2048 calls under way. Try again in a second.',
    { details: [RETRY_INFO] },
  ),
  error(431, 'RESOURCE_EXHAUSTED', ['HEADERS_TOO_LARGE'], 'The headers are larger than the server accepts.'),
  error(499, 'CANCELLED', ['CANCELLED'], 'The caller cancelled the call.'),
  error(500, 'INTERNAL', ['INTERNAL'], 'An internal error occurred.'),
  error(
    501,
    'UNIMPLEMENTED',
    ['TRANSFER_CODING_UNSUPPORTED'],
    'The transfer coding is not supported; only chunked is allowed.',
  ),
  error(
    503,
    'UNAVAILABLE',
    ['STORE_UNAVAILABLE', 'KEYS_UNAVAILABLE', 'SHUTTING_DOWN', 'UPSTREAM_UNAVAILABLE'],
    'The route store is unavailable. Try again.',
  ),
  error(504, 'DEADLINE_EXCEEDED', ['DEADLINE_EXCEEDED'], 'The deadline passed before the call was answered.'),
];

const pathUnknown = error(404, 'NOT_FOUND', ['PATH_UNKNOWN'], 'No resource has this path.');
const methodNotAllowed = error(
  405,
  'UNIMPLEMENTED',
  ['METHOD_NOT_ALLOWED'],
  'The resource does not support this HTTP method. It supports GET, HEAD, OPTIONS.',
);

/** The responses to failures, by component name: those of operations, and to paths and methods that there are not. */
export const errorResponses: Readonly<Record<string, Response>> = {
  ...Object.fromEntries(errors.map(({ status, response }) => [`Error${status}`, response])),
  PathUnknown: pathUnknown.response,
  MethodNotAllowed: methodNotAllowed.response,
};

/** All reasons that errors may give, in the order of the alphabet. */
export const reasons: readonly string[] = [...errors, pathUnknown, methodNotAllowed]
  .flatMap((each) => each.reasons)
  .sort();

/** References to the responses with the given statuses, and to those for one of the reasons, by status. */
export function errorsOf(statuses: readonly number[], named: ReadonlySet<string> = new Set()): Responses {
  const met = errors.filter(
    (each) => statuses.includes(each.status) || each.reasons.some((reason) => named.has(reason)),
  );
  return Object.fromEntries(
    met.map(({ status }) => [status, { $ref: `#/components/responses/Error${status}` }]),
  );
}

/**
 * The response for all failures with an HTTP status, whose example has the first of their reasons.
 *
 * @param code the code of the example
 * @param rest facts of the example that belong to its reason, and details besides the reason and the request id
 */
function error(
  status: number,
  code: string,
  reasons: readonly [string, ...string[]],
  message: string,
  { metadata, details = [] }: { metadata?: JsonObject; details?: readonly JsonObject[] } = {},
): { status: number; reasons: readonly string[]; response: Response } {
  const [reason] = reasons;
  const info = detail('ErrorInfo', { reason, domain: DOMAIN, ...(metadata && { metadata }) });
  const call = detail('RequestInfo', { requestId: REQUEST_ID });
  const value = { error: { code: status, status: code, message, details: [info, ...details, call] } };
  const schema = { $ref: '#/components/schemas/Error' };
  const named = reasons.map((each) => `\`${each}\``).join(', ');
  const own: Readonly<Record<number, Headers>> = headersOfStatus;
  return {
    status,
    reasons,
    response: {
      description: `${STATUS_CODES[status] ?? NON_STANDARD}: ${named}.`,
      headers: { ...headersFor('never'), ...own[status] },
      content: { 'application/json': { schema, examples: { [reason]: { value } } } },
    },
  };
}

function detail(name: string, fields: JsonObject): JsonObject {
  return { '@type': `${TYPE_PREFIX}${name}`, ...fields };
}
