import type { UnaryCall } from '@route-registry/transcoder';
import { Caller } from '../support/caller.js';

/** The method that these calls call. */
export const PATH = '/library.v1.Probe/Echo';

/** A call with ten seconds to go and a caller who stays. */
export function unaryCall(more: Partial<UnaryCall> = {}): UnaryCall {
  return {
    path: PATH,
    message: Buffer.from('abc'),
    metadata: new Map(),
    deadline: Date.now() + 10_000,
    cancellation: new Caller(),
    ...more,
  };
}
