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
  /** What `capture` of the same observer returned, for each call of the statement. */
  readonly captured: readonly unknown[];
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** A call that a statement serves. */
export interface ServedCall extends Waiting {
  /** What `StatementObservers.capture` returned when the call began to wait: a value for each observer. */
  readonly capturedByEach: CapturedByEach;
}

/** What each observer captured for one call, in the order of the observers. */
type CapturedByEach = readonly unknown[];

/** What all observers of a statement see alike, beside its calls. */
export type StatementFacts = Pick<ObservedStatement, 'operation' | 'attempt'>;

const NONE: CapturedByEach = [];

/** All observers of one store. */
export class StatementObservers {
  readonly #observers: readonly StatementObserver[];

  constructor(observers: readonly StatementObserver[]) {
    this.#observers = observers;
  }

  /** Must be called when a call begins to wait, in the call's own context. */
  capture(): CapturedByEach {
    return this.#observers.length === 0 ? NONE : this.#observers.map((observer) => observer.capture?.());
  }

  /**
   * Tells all observers that a statement is about to be sent. The returned function must be called once, when the
   * statement has ended, with the error if it failed.
   */
  begin(facts: StatementFacts, calls: readonly ServedCall[]): (error?: unknown) => void {
    const ends = this.#observers.map((observer, i) => {
      const captured = calls.map((call) => call.capturedByEach[i]);
      return observer.begin({ ...facts, batchSize: calls.length, captured });
    });
    return (error) => {
      for (const end of ends) end(error);
    };
  }
}
