import { executionAsyncResource } from 'node:async_hooks';

/**
 * Keeps the native parts of ended sessions until those of their streams are surely gone. Node may collect both at once,
 * and then frees the session first. A stream that still holds headers of a broken or incomplete block then makes Node
 * abort the process (decision 35).
 */
export class EndedSessions {
  #recent: object[] = [];
  #older: object[] = [];
  readonly #collections = new FinalizationRegistry<undefined>(() => {
    this.#older = this.#recent;
    this.#recent = [];
    this.#watch();
  });

  /** Keeps an ended session until the second full garbage collection from now. */
  keep(session: object): void {
    const watched = this.#recent.length > 0 || this.#older.length > 0;
    this.#recent.push(session);
    if (!watched) this.#watch();
  }

  /** Waits for the next full collection, which collects an unreferenced object. */
  #watch(): void {
    if (this.#recent.length > 0 || this.#older.length > 0) this.#collections.register({}, undefined);
  }
}

/** The native part of a session, in a listener that the session calls: it is the async resource of that call. */
export function currentNativePart(): object {
  return executionAsyncResource();
}
