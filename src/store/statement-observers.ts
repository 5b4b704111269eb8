import type { Waiting } from './batch.js';

/** Observes the statements that serve calls, as metrics and traces do. Neither method may throw. */
export interface StatementObserver {
  /**
   * Called when a call begins to wait for the database, in the call's own context.
   *
   * @returns the value to link with the statements that serve the call
   */
  capture?(): unknown;
  /**
   * Called when a statement is about to be sent on a connection.
   *
   * @returns a function that is called once, when the statement ends, with the error if it failed; the error holds no
   *   SQL and no values
   */
  begin(statement: ObservedStatement): (error?: unknown) => void;
}

/** A statement that serves calls. Health checks of the database are not observed. */
export interface ObservedStatement {
  readonly operation: 'INSERT' | 'SELECT';
  /** The number of calls that the statement serves. */
  readonly batchSize: number;
  /** The values that `capture` of the same observer returned for each call. */
  readonly captured: readonly unknown[];
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** The values that each observer captured for one call, in the order of the observers. */
type Captured = readonly unknown[];

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** The values that the observers captured when the call began to wait. */
  readonly captured: Captured;
}

/** A statement as the store describes it to all of its observers. */
export type SentStatement = Pick<ObservedStatement, 'operation' | 'attempt'>;

const NONE: Captured = [];

/** All observers of one store. */
export class StatementObservers {
  readonly #observers: readonly StatementObserver[];

  constructor(observers: readonly StatementObserver[]) {
    this.#observers = observers;
  }

  /** Must be called when a call begins to wait. */
  capture(): Captured {
    return this.#observers.length === 0 ? NONE : this.#observers.map((observer) => observer.capture?.());
  }

  /** Must be called when a statement is about to be sent; what it returns, when it ends, with the error if it failed. */
  begin(statement: SentStatement, calls: readonly ServedCall[]): (error?: unknown) => void {
    const ends = this.#observers.map((observer, i) => {
      const captured = calls.map((call) => call.captured[i]);
      return observer.begin({ ...statement, batchSize: calls.length, captured });
    });
    return (error) => {
      for (const end of ends) end(error);
    };
  }
}
