import type { FailureFacts } from '@route-registry/transcoder/openapi';
import { ROUTE_ID } from './field-facts.js';

const UNKNOWN_FIELD = { field: 'route.handlr', description: 'Must be a known field; got "handlr".' };
const BAD_REQUEST = {
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [UNKNOWN_FIELD],
};

/** The server's failures by reason, each with an example. The document shows the first example for each status. */
export const failures: Readonly<Record<string, FailureFacts>> = {
  REQUEST_MALFORMED: {
    code: 'INVALID_ARGUMENT',
    message: 'The request does not fit the method: route.handlr.',
    details: [BAD_REQUEST],
    everywhere: true,
  },
  ROUTE_INVALID: { code: 'INVALID_ARGUMENT', message: 'The route is invalid.', everywhere: true },
  TOKEN_INVALID: { code: 'UNAUTHENTICATED', message: 'The token has expired.', everywhere: true },
  TOKEN_MISSING: { code: 'UNAUTHENTICATED', message: 'A token is needed.', everywhere: true },
  SCOPE_MISSING: {
    code: 'PERMISSION_DENIED',
    message: 'The token lacks the scope routes:write.',
    metadata: { scope: 'routes:write' },
    everywhere: true,
  },
  ROUTE_NOT_FOUND: { code: 'NOT_FOUND', message: `There is no route with the id "${ROUTE_ID}".` },
  ROUTE_EXISTS: {
    code: 'ALREADY_EXISTS',
    message: 'A route for GET "/users/:id" already exists; parameter names make no difference.',
    metadata: { route_id: ROUTE_ID },
  },
  REQUEST_ID_REUSED: { code: 'ALREADY_EXISTS', message: 'The request id belongs to another route.' },
  STORE_UNAVAILABLE: {
    code: 'UNAVAILABLE',
    message: 'The route store is unavailable. Try again.',
    everywhere: true,
  },
  KEYS_UNAVAILABLE: {
    code: 'UNAVAILABLE',
    message: 'The keys of the issuer are unavailable. Try again.',
    everywhere: true,
  },
};
