import type { Guard, Upstream } from '@route-registry/transcoder';
import { GUARD_ONLY } from '../calls/metadata-keys.js';

const NO_MESSAGE = new Uint8Array();

/** The guard of the gRPC server, which ends a marked call once the caller is admitted, and runs no method. */
export function guardOf(upstream: Upstream): Guard {
  return (call) =>
    upstream.unary({
      ...call,
      message: NO_MESSAGE,
      metadata: new Map(call.metadata).set(GUARD_ONLY, '1'),
    });
}
