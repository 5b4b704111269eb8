import type { FailureReason } from '../../packages/transcoder/src/failures/failure.js';
import type { RegistryReason, Violation } from '../registry/errors.js';
import { checkDefinition } from '../registry/route.js';
import { ROUTE_ID, WRONG_DEFINITION } from './field-facts.js';

/** What a failure may look like besides its reason and code. */
export interface FailureExample {
  readonly message: string;
  /** Facts for programs, in the `google.rpc.ErrorInfo`. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  /** The headers that come with it. */
  readonly headers?: Readonly<Record<string, string>>;
}

const examples = {
  TOKEN_MISSING: { message: 'No bearer token was given.' },
  TOKEN_INVALID: { message: 'The token has expired.' },
  KEYS_UNAVAILABLE: { message: 'The keys that verify tokens are unavailable. Try again.' },
  SCOPE_MISSING: { message: 'The token lacks the scope that the method needs.' },
  REQUEST_MALFORMED: {
    message: 'The request does not fit the method.',
    violations: [{ field: 'route.handlr', description: 'Is not a field of this message.' }],
  },
  REQUEST_TOO_LARGE: { message: 'The body is larger than 65536 bytes.' },
  REQUEST_TIMED_OUT: { message: 'The request did not arrive in time.' },
  HEADERS_TOO_LARGE: { message: 'The headers are larger than the server takes.' },
  CONTENT_TYPE_UNSUPPORTED: {
    message: 'The content encoding is not supported; gzip, deflate and br are.',
    headers: { 'Accept-Post': 'application/json', 'Accept-Encoding': 'gzip, deflate, br' },
  },
  PATH_UNKNOWN: { message: 'No resource has this path.' },
  METHOD_NOT_ALLOWED: {
    message: 'The resource does not answer to this HTTP method.',
    headers: { Allow: 'GET, HEAD, OPTIONS' },
  },
  ROUTE_INVALID: {
    message: 'The request is not valid: route.path, route.middleware[1].',
    violations: checkDefinition(WRONG_DEFINITION).map(({ field, description }) => ({
      field: `route.${field}`,
      description,
    })),
  },
  ROUTE_NOT_FOUND: { message: 'There is no route with this id.' },
  ROUTE_EXISTS: {
    message: 'A route for GET "/users/:id" exists, whatever its parameters are called.',
    metadata: { route_id: ROUTE_ID },
  },
  REQUEST_ID_REUSED: { message: 'The request id was used before, for another route.' },
  STORE_UNAVAILABLE: { message: 'The store of routes is unavailable. Try again.' },
  INTERNAL: { message: 'An internal error occurred.' },
} as const satisfies Record<FailureReason | RegistryReason, FailureExample> & Record<string, FailureExample>;

/** How a failure may look, by its reason. @throws Error where nobody wrote down how */
export function failureExample(reason: string): FailureExample {
  const found = (examples as Readonly<Record<string, FailureExample>>)[reason];
  if (found === undefined) throw new Error(`The failure ${reason} has no example.`);
  return found;
}
