import type { Route } from '../registry/route.js';
import { batched } from './batch.js';
import { type StoredRoute, toStored, type UniqueValues } from './route-row.js';
import type { RouteStatements, ServedCall } from './statements.js';

/** A text that two routes share only if they have the same caller and idempotency key; undefined without a key. */
export function keyOf({ caller, idempotencyKey }: Pick<StoredRoute, 'caller' | 'idempotencyKey'>) {
  return idempotencyKey === undefined ? undefined : `${caller.length} ${caller} ${idempotencyKey}`;
}

/** Stored routes, by the values that only one of them has. */
export class StoredRoutes {
  readonly #ids = new Map<string, Route>();
  readonly #keys = new Map<string, Route>();
  readonly #shapes = new Map<string, Route>();

  constructor(stored: readonly StoredRoute[]) {
    for (const { route, shape, ...rest } of stored) {
      const key = keyOf(rest);
      this.#ids.set(route.id, route);
      if (key !== undefined) this.#keys.set(key, route);
      if (shape !== undefined) this.#shapes.set(shape, route);
    }
  }

  withId(id: string): Route | undefined {
    return this.#ids.get(id);
  }

  /** The route with the caller and the idempotency key of another. */
  withKeyOf(other: Pick<StoredRoute, 'caller' | 'idempotencyKey'>): Route | undefined {
    return this.#keys.get(keyOf(other) ?? '');
  }

  /** The route that holds a shape. */
  firstOf(shape: string): Route | undefined {
    return this.#shapes.get(shape);
  }
}

/** A call that waits for the routes that have some of these values. */
export interface LookUp extends ServedCall {
  readonly values: UniqueValues;
}

/** Look-ups by unique values. Those that come together share a statement, and its result. */
export class LookUps {
  /** Finds every route, on the writer. A transaction keeps its connection for several round trips. */
  readonly consistent: (lookUp: LookUp) => Promise<StoredRoutes>;
  /** Cheaper. It may miss routes, since a reader may lag behind the writer. @throws the driver's error */
  readonly eventual: (lookUp: LookUp) => Promise<StoredRoutes>;

  constructor(rows: RouteStatements) {
    this.consistent = batched(
      { maxConcurrent: 1, maxConcurrentWhenFull: 2 },
      sharing(rows.lookUpOnWriter.bind(rows)),
    );
    this.eventual = batched({ maxConcurrent: 2, maxConcurrentWhenFull: 4 }, sharing(rows.lookUp.bind(rows)));
  }
}

function sharing(
  send: RouteStatements['lookUp'],
): (lookUps: readonly LookUp[]) => Promise<readonly StoredRoutes[]> {
  return async (lookUps) => {
    const values = lookUps.map((each) => each.values);
    const stored = new StoredRoutes((await send(values, lookUps)).map(toStored));
    return lookUps.map(() => stored);
  };
}
