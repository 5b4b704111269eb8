import { Metadata } from '@grpc/grpc-js';
import type { Cancellation, UnaryCall } from '../../src/gateway/upstream.js';

/** The method that these calls call. */
export const PATH = '/library.v1.Probe/Echo';

/** A caller who can go. */
export class Caller implements Cancellation {
  cancelled = false;
  readonly #listeners: (() => void)[] = [];

  onCancelled(listener: () => void): void {
    this.#listeners.push(listener);
  }

  go(): void {
    this.cancelled = true;
    for (const listener of this.#listeners) listener();
  }
}

/** A call with ten seconds to go and a caller who stays. */
export function unaryCall(more: Partial<UnaryCall> = {}): UnaryCall {
  return {
    path: PATH,
    message: Buffer.from('abc'),
    metadata: new Metadata(),
    deadline: Date.now() + 10_000,
    cancellation: new Caller(),
    ...more,
  };
}
