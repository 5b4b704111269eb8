import { Code } from '../gen/google/rpc/code_pb.js';
import { DEADLINE_EXCEEDED_TEXT } from './failure.js';

/** A failure as clients see it when the status does not come from a server. */
interface UpstreamFailure {
  readonly code: Code;
  readonly reason: string;
  readonly message: string;
}

const INTERNAL: UpstreamFailure = {
  code: Code.INTERNAL,
  reason: 'INTERNAL',
  message: 'An internal error occurred.',
};

/** By the code that the upstream returned. */
const upstreamFailures = {
  [Code.CANCELLED]: {
    code: Code.CANCELLED,
    reason: 'CANCELLED',
    message: 'The caller cancelled the call.',
  },
  [Code.DEADLINE_EXCEEDED]: {
    code: Code.DEADLINE_EXCEEDED,
    reason: 'DEADLINE_EXCEEDED',
    message: DEADLINE_EXCEEDED_TEXT,
  },
  [Code.UNAVAILABLE]: {
    code: Code.UNAVAILABLE,
    reason: 'UPSTREAM_UNAVAILABLE',
    message: 'The service is unavailable.',
  },
  [Code.RESOURCE_EXHAUSTED]: {
    code: Code.RESOURCE_EXHAUSTED,
    reason: 'OVERLOADED',
    message: 'The service is overloaded. Try again in a second.',
  },
  [Code.OK]: INTERNAL,
  [Code.UNKNOWN]: INTERNAL,
  [Code.INVALID_ARGUMENT]: INTERNAL,
  [Code.NOT_FOUND]: INTERNAL,
  [Code.ALREADY_EXISTS]: INTERNAL,
  [Code.PERMISSION_DENIED]: INTERNAL,
  [Code.FAILED_PRECONDITION]: INTERNAL,
  [Code.ABORTED]: INTERNAL,
  [Code.OUT_OF_RANGE]: INTERNAL,
  [Code.UNIMPLEMENTED]: INTERNAL,
  [Code.INTERNAL]: INTERNAL,
  [Code.DATA_LOSS]: INTERNAL,
  [Code.UNAUTHENTICATED]: INTERNAL,
} as const satisfies Record<Code, UpstreamFailure>;

/**
 * The failure, with a fixed text, for a call that the upstream could not complete. The upstream's own text may name
 * hosts and sockets, so clients do not get it.
 */
export function upstreamFailure(code: Code): UpstreamFailure {
  return upstreamFailures[code];
}
