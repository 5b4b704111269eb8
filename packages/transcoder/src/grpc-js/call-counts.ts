import type { UnaryCall } from '../upstream.js';

const AUTHORIZATION = 'authorization';

/** The calls in progress by method and by caller, also those that nobody waits for any more. */
export class CallCounts {
  /** By the path of the method. */
  readonly #methods = new Map<string, number>();
  /** By `authorization`. */
  readonly #callers = new Map<string, number>();

  of({ path, metadata }: UnaryCall): { readonly ofMethod: number; readonly ofCaller: number } {
    const caller = metadata.get(AUTHORIZATION);
    const ofCaller = caller === undefined ? 0 : (this.#callers.get(caller) ?? 0);
    return { ofMethod: this.#methods.get(path) ?? 0, ofCaller };
  }

  add(call: UnaryCall): void {
    this.#change(call, 1);
  }

  remove(call: UnaryCall): void {
    this.#change(call, -1);
  }

  #change({ path, metadata }: UnaryCall, by: 1 | -1): void {
    change(this.#methods, path, by);
    const caller = metadata.get(AUTHORIZATION);
    if (caller !== undefined) change(this.#callers, caller, by);
  }
}

function change(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
