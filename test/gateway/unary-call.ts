import type { UnaryCall } from '@route-registry/transcoder';
import { Caller } from '../support/caller.js';

/** The method that these calls invoke. */
export const PATH = '/library.v1.Probe/Echo';

/** A call with ten seconds left and a client who stays. */
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
