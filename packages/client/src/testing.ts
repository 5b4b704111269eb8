/** A client in memory, for the tests of programs that use a `RouteClient`. */
import { MemoryCaller, type ScriptedFailure } from './memory-caller.js';
import { CallingRouteClient, type RouteClient } from './route-client.js';
import { type Route, storedRoute } from './route.js';

export type { ScriptedFailure } from './memory-caller.js';

/** A client that keeps its routes in memory. */
export interface TestRouteClient extends RouteClient {
  /** The routes stored so far, oldest first. */
  readonly routes: readonly Route[];
  /** Lets a call fail: the next one, or the one after those that were to fail before. It is not retried. */
  failNext(failure: ScriptedFailure): void;
}

/**
 * Creates a client that stores routes in memory and answers as the service does: it gives each route an id and a time,
 * answers a repeated idempotency key with the first route, and knows no other ids. Calls may be cancelled, and options
 * are checked; the fields of routes, tokens and duplicates are not.
 */
export function createTestRouteClient(): TestRouteClient {
  return new MemoryRouteClient(new MemoryCaller());
}

class MemoryRouteClient extends CallingRouteClient implements TestRouteClient {
  readonly #memory: MemoryCaller;

  constructor(memory: MemoryCaller) {
    super(memory);
    this.#memory = memory;
  }

  get routes(): readonly Route[] {
    return [...this.#memory.stored.values()].map(storedRoute);
  }

  failNext(failure: ScriptedFailure): void {
    this.#memory.failNext(failure);
  }
}
