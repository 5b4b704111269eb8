import { type CallError, shuttingDown } from '../calls/failures.js';

/** A call that can be ended before its answer. */
export interface EndableCall {
  fail(failure: CallError): void;
}

/** The calls that a closing server does not wait for: it fails them, and all later ones, with `SHUTTING_DOWN`. */
export class CallsEndedAtClose {
  readonly #calls = new Set<EndableCall>();
  #closed = false;

  add(call: EndableCall): void {
    this.#calls.add(call);
    if (this.#closed) call.fail(shuttingDown());
  }

  delete(call: EndableCall): void {
    this.#calls.delete(call);
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#calls) call.fail(shuttingDown());
  }
}
