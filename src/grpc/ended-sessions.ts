import { executionAsyncResource } from 'node:async_hooks';

/**
 * Keeps the native objects of ended sessions until those of their streams have certainly been collected. If Node
 * collects both at once, it frees the session first; a stream that still holds headers of a broken or incomplete block
 * then aborts the process (decision 35).
 */
export class EndedSessions {
  #recent: object[] = [];
  #older: object[] = [];
  readonly #collections = new FinalizationRegistry<undefined>(() => {
    this.#older = this.#recent;
    this.#recent = [];
    this.#watch();
  });

  /** Keeps an ended session's native object until the second full garbage collection from now. */
  keep(session: object): void {
    const watched = this.#recent.length > 0 || this.#older.length > 0;
    this.#recent.push(session);
    if (!watched) this.#watch();
  }

  /** Watches for the next full collection, by registering an object that it collects. */
  #watch(): void {
    if (this.#recent.length > 0 || this.#older.length > 0) this.#collections.register({}, undefined);
  }
}

/** The native object of the session whose listener is running: Node runs listeners with it as the async resource. */
export function currentNativePart(): object {
  return executionAsyncResource();
}
