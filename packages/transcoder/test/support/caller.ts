import type { UnaryCall } from '../../src/upstream.js';

type Cancellation = UnaryCall['cancellation'];

/** A client that waits for a response until `go` is called. */
export class Caller implements Cancellation {
  cancelled = false;
  readonly #listeners: (() => void)[] = [];

  onCancelled(listener: () => void): void {
    this.#listeners.push(listener);
  }

  go(): this {
    this.cancelled = true;
    for (const listener of this.#listeners) listener();
    return this;
  }
}
