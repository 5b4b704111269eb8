import type { UnaryCall } from '../../src/upstream.js';
import { Caller } from './caller.js';

/** The method that these calls invoke. */
export const PATH = '/library.v1.Probe/Echo';

/** A call with ten seconds left, whose client stays connected. */
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
