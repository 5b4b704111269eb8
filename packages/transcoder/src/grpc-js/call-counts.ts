import { Counts } from '../counts.js';
import { type UnaryCall, credentialOf } from '../upstream.js';

/** The calls in progress by method and by caller, also those that nobody waits for any more. */
export class CallCounts {
  /** By the path of the method. */
  readonly #methods = new Counts();
  /** By `authorization`. */
  readonly #callers = new Counts();

  of(call: UnaryCall): { readonly ofMethod: number; readonly ofCaller: number } {
    const caller = credentialOf(call);
    return {
      ofMethod: this.#methods.of(call.path),
      ofCaller: caller === undefined ? 0 : this.#callers.of(caller),
    };
  }

  add(call: UnaryCall): void {
    const caller = credentialOf(call);
    this.#methods.add(call.path);
    if (caller !== undefined) this.#callers.add(caller);
  }

  remove(call: UnaryCall): void {
    const caller = credentialOf(call);
    this.#methods.remove(call.path);
    if (caller !== undefined) this.#callers.remove(caller);
  }
}
