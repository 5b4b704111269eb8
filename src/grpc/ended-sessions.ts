import { executionAsyncResource } from 'node:async_hooks';

/**
 * Keeps the native parts of sessions that have ended until those of their streams are surely gone. Node may collect
 * both at once, and then frees the session first; a stream that still holds headers, of a block that was broken or cut
 * off, then makes Node abort the process (decision 35).
 */
export class EndedSessions {
  #recent: object[] = [];
  #older: object[] = [];
  readonly #collections = new FinalizationRegistry<undefined>(() => {
    this.#older = this.#recent;
    this.#recent = [];
    this.#watch();
  });

  /** Lets go of a session that has ended in the second collection of all garbage from now on. */
  keep(session: object): void {
    const watched = this.#recent.length > 0 || this.#older.length > 0;
    this.#recent.push(session);
    if (!watched) this.#watch();
  }

  /** Waits for the next collection, which is the one that finds an object that nobody has. */
  #watch(): void {
    if (this.#recent.length > 0 || this.#older.length > 0) this.#collections.register({}, undefined);
  }
}

/** The native part of a session, in a listener that the session calls itself. */
export function nativePart(): object {
  return executionAsyncResource();
}
