import { status } from '@grpc/grpc-js';

/** How a failure that the channel made, and no server described, is shown. */
export interface UpstreamFailure {
  readonly code: status;
  readonly reason: string;
  readonly message: string;
}

const INTERNAL: UpstreamFailure = {
  code: status.INTERNAL,
  reason: 'INTERNAL',
  message: 'An internal error occurred.',
};

/** By the code of the reply. The channel's own texts name hosts and sockets and are not passed on. */
const upstreamFailures = {
  [status.CANCELLED]: {
    code: status.CANCELLED,
    reason: 'CANCELLED',
    message: 'The caller cancelled the call.',
  },
  [status.DEADLINE_EXCEEDED]: {
    code: status.DEADLINE_EXCEEDED,
    reason: 'DEADLINE_EXCEEDED',
    message: 'The deadline passed before the call was answered.',
  },
  [status.UNAVAILABLE]: {
    code: status.UNAVAILABLE,
    reason: 'UPSTREAM_UNAVAILABLE',
    message: 'The service is unavailable.',
  },
  [status.RESOURCE_EXHAUSTED]: {
    code: status.RESOURCE_EXHAUSTED,
    reason: 'OVERLOADED',
    message: 'The service has more load than it can carry.',
  },
  [status.OK]: INTERNAL,
  [status.UNKNOWN]: INTERNAL,
  [status.INVALID_ARGUMENT]: INTERNAL,
  [status.NOT_FOUND]: INTERNAL,
  [status.ALREADY_EXISTS]: INTERNAL,
  [status.PERMISSION_DENIED]: INTERNAL,
  [status.FAILED_PRECONDITION]: INTERNAL,
  [status.ABORTED]: INTERNAL,
  [status.OUT_OF_RANGE]: INTERNAL,
  [status.UNIMPLEMENTED]: INTERNAL,
  [status.INTERNAL]: INTERNAL,
  [status.DATA_LOSS]: INTERNAL,
  [status.UNAUTHENTICATED]: INTERNAL,
} as const satisfies Record<status, UpstreamFailure>;

/** What is said of a reply that carries no `google.rpc.Status`. */
export function upstreamFailure(code: status): UpstreamFailure {
  return upstreamFailures[code];
}
