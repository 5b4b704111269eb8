import { Counts } from '../counts.js';
import { type UnaryCall, credentialOf } from '../upstream.js';

/** The calls in progress by method and by caller, also those that nobody waits for any more. */
export class CallCounts {
  /** By the path of the method. */
  readonly #methods = new Counts();
  /** By `authorization`. */
  readonly #callers = new Counts();

  of(call: UnaryCall): { readonly ofMethod: number; readonly ofCaller: number } {
    return { ofMethod: this.#methods.of(call.path), ofCaller: this.#callers.of(credentialOf(call)) };
  }

  /** @param change 1 when a call begins, -1 when it has ended. */
  add(call: UnaryCall, change: 1 | -1): void {
    this.#methods.add(call.path, change);
    this.#callers.add(credentialOf(call), change);
  }
}
