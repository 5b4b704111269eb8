import { EXPIRED } from '../auth/authenticator.js';
import { tokenInvalid, tokenMissing } from '../auth/auth-result.js';
import { keysUnavailable } from '../auth/remote-key-set.js';
import {
  bodyTooLarge,
  deadlineExceeded,
  encodingUnsupported,
  type Failure,
  type FailureReason,
  headersTooLarge,
  internal,
  methodNotAllowed,
  misfit,
  overloaded,
  pathUnknown,
  preconditionFailed,
  requestTimedOut,
  shuttingDown,
  targetTooLong,
  transferCodingUnsupported,
  unknownField,
} from '@route-registry/transcoder/description';
import { type CallError, notAdmitted, type Reason, scopeMissing } from '../calls/failures.js';
import type { RegistryError } from '../registry/errors.js';
import { requestIdReused, routeExists, routeInvalid, routeNotFound } from '../registry/registry.js';
import { checkDefinition } from '../registry/route.js';
import { storeUnavailable } from '../store/driver-errors.js';
import { ROUTE_DEFINITION, ROUTE_ID, WRONG_DEFINITION } from './field-facts.js';

/** The default of `MAX_MESSAGE_BYTES`. */
const MAX_BODY_BYTES = 65_536;

/** An example of each failure of the gateway. */
export const gatewayExamples = {
  REQUEST_MALFORMED: () => misfit([unknownField('route.handlr')]),
  REQUEST_TOO_LARGE: () => bodyTooLarge(MAX_BODY_BYTES),
  REQUEST_TIMED_OUT: requestTimedOut,
  HEADERS_TOO_LARGE: headersTooLarge,
  TARGET_TOO_LONG: targetTooLong,
  CONTENT_TYPE_UNSUPPORTED: encodingUnsupported,
  TRANSFER_CODING_UNSUPPORTED: transferCodingUnsupported,
  PRECONDITION_FAILED: preconditionFailed,
  PATH_UNKNOWN: pathUnknown,
  METHOD_NOT_ALLOWED: () => methodNotAllowed({ Allow: 'GET, HEAD, OPTIONS' }),
  OVERLOADED: () => overloaded('It has 4096 calls under way.'),
  SHUTTING_DOWN: shuttingDown,
  DEADLINE_EXCEEDED: deadlineExceeded,
  INTERNAL: () => internal(undefined),
} as const satisfies Record<FailureReason, () => Failure>;

/** The failures of the server that a REST client can see and that neither the gateway nor its upstream produces. */
export type ServerReason = Exclude<Reason, FailureReason | 'SERVICE_UNKNOWN' | 'UNSUPPORTED' | 'CANCELLED'>;

/** An example of each failure of the server, for a method that requires the given scope. */
export const serverExamples = {
  TOKEN_MISSING: () => notAdmitted(tokenMissing()),
  TOKEN_INVALID: () => notAdmitted(tokenInvalid(EXPIRED)),
  KEYS_UNAVAILABLE: () => notAdmitted(keysUnavailable(undefined)),
  SCOPE_MISSING: scopeMissing,
  ROUTE_INVALID: () =>
    routeInvalid(
      checkDefinition(WRONG_DEFINITION).map((each) => ({ ...each, field: `route.${each.field}` })),
    ),
  ROUTE_NOT_FOUND: () => routeNotFound(ROUTE_ID),
  ROUTE_EXISTS: () => routeExists(ROUTE_DEFINITION, ROUTE_ID),
  REQUEST_ID_REUSED: requestIdReused,
  STORE_UNAVAILABLE: () => storeUnavailable(undefined),
} as const satisfies Record<ServerReason, (scope: string | undefined) => CallError | RegistryError>;
